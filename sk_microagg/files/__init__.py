"""Files as tables of typed columns, and releases written as the files were.

What users call is in `sk_microagg.release`.
"""

__all__: list[str] = []
