"""Whether an update of a Pod touches what is judged. Pure.

Most of a Pod cannot be changed. Who labels a Pod that a newer standard would not let in is not to blame for it.
"""

from collections.abc import Mapping
from typing import Any

from kubeapi.meta import ReadOnlyManifest
from kubeserver.admission.pod_security.confinement import SECCOMP_OF_CONTAINER
from kubeserver.admission.pod_security.pods import Pod
from kubeserver.values import entries


def changes_what_is_judged(new: ReadOnlyManifest, old: ReadOnlyManifest) -> bool:
    after, before = Pod.of(new), Pod.of(old)
    return any(_looks(after, field) != _looks(before, field) for field in ("containers", "initContainers")) or any(
        look not in _looks(before, "ephemeralContainers") for look in _looks(after, "ephemeralContainers")
    )


def _looks(pod: Pod, field: str) -> list[Mapping[str, Any]]:
    """What an update may change of containers, or add."""
    return [
        {
            "name": container.get("name"),
            "image": container.get("image"),
            "seccomp": pod.annotations.get(SECCOMP_OF_CONTAINER + container.get("name", "")),
        }
        for container in entries(pod.spec, field)
    ]
