"""The semantic rules of Karmada's kinds, one module per group of kinds.

Each rule is a generator of problems over a `Node`, a value that knows its path. Values of an unexpected shape read as
absent: that they have it is the schemas' business, which are checked elsewhere. Start at `leeward.api.validation`.
"""
