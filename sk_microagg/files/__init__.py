"""Files as tables of typed columns, and releases written as the files were."""
