"""The registry: what the verbs mean for any kind.

    reading, watching     bytes from the store to the client, decoded only where selectors or tables ask for it
    writing, deleting     the life of an object: decode, default, admit, check, stamp, store

Knows kinds only through `kinds.kind.Kind`; the few kinds with a life of their own (namespaces, definitions of custom
resources, services) hook in through `hooks.py`. Never answers HTTP.
"""
