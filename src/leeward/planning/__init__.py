"""Planning: what changes while decisions are made. It keeps what is fast and mutable, and hands decisions frozen views.

Between `core`, which changes nothing, and the controllers, which write.
"""
