"""The verbs: from a request that names a target to the registry, and back to an answer. Stores nothing itself."""
