"""Controllers, which the server runs unasked: what it has from the beginning, and what becomes of objects that nobody
needs.

Each is level-triggered and works with the rights of the server itself, through the registry as everybody does.
"""
