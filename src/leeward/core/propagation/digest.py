"""A short name for what a resource template asks for, so that a change of its status alone is no change."""

import hashlib

from kubeapi.codec import canonical
from kubeapi.meta import ReadOnlyManifest

_VOLATILE = ("resourceVersion", "managedFields", "generation")


def template_digest(template: ReadOnlyManifest) -> str:
    """16 hexadecimal characters that change with everything but status and bookkeeping."""
    metadata = {key: value for key, value in template["metadata"].items() if key not in _VOLATILE}
    content = {key: value for key, value in template.items() if key not in ("status", "metadata")}
    return hashlib.sha256(canonical({**content, "metadata": metadata})).hexdigest()[:16]
