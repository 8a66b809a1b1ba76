"""The patch formats of the Kubernetes API, as pure functions on plain JSON values.

    merge.apply(target, patch)                              RFC 7396
    jsonpatch.apply(target, operations)                     RFC 6902
    strategic.apply(target, patch, api_version, kind)       lists merged by key, as `merge_keys.py` says for each kind

None of them changes its arguments; what they return shares its untouched parts with the target. A patch that cannot be
applied is a ValueError that names the place. Never knows of objects' life, versions or validation.
"""
