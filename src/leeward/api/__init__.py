"""Kubernetes and Karmada objects as types, and what can be said of them without deciding anything.

Kinds that Leeward decides about (Cluster, the policies, bindings, Work, Lease, Namespace, and the parts of Pod and
Node that matter) are frozen msgspec structs. Users' resource templates are *manifests*: plain JSON mappings that go
through unchanged. A `Resource` ties a kind's REST coordinates to its type.

This package never does I/O, reads no clock, logs nothing, and decides nothing.

Start reading at `resource.py`, then `meta.py`, `cluster.py`, `policy.py`, `work.py`.
"""
