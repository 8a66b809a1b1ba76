"""The kinds that are served: their tables, defaults and rules. Pure; start reading at `kind.py`, then `builtin.py`."""
