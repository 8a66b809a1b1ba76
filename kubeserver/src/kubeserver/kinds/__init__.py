"""The kinds that are served: their tables, defaults and rules. Pure; start at `kind.py`, then `builtin_kinds`."""
