"""Releases of files: a request, and what fulfills it for shell, page and Python."""
