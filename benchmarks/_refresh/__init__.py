"""What `refresh.py` consists of.

`jobs` has the commands, `pages` writes into pages, `tables` and `quotes` say what is written there:
tables between markers, and numbers in sentences.
"""
