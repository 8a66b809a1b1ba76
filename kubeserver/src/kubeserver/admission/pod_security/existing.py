"""Warnings about Pods that are there already when a namespace begins to enforce a standard. Pure.

They stay, and nobody would notice before they are made anew. Pods that violate the same are told of as one.
"""

from collections.abc import Iterator, Sequence

from kubeapi.meta import ReadOnlyManifest
from kubeserver.admission.pod_security.evaluation import reasons, violations
from kubeserver.admission.pod_security.pods import Pod
from kubeserver.admission.pod_security.standards import Level, Standard

MAX_PODS = 3000
"""Most Pods that are looked at."""


def is_to_look(before: Standard, after: Standard) -> bool:
    """Pods that were right may be wrong now: the new standard is stricter, or that of another version."""
    if after.level == Level.PRIVILEGED:
        return False
    return after.level > before.level if after.minor == before.minor else True


def warnings(namespace: str, enforced: Standard, pods: Sequence[ReadOnlyManifest], total: int) -> Iterator[str]:
    """`pods` are the first of all `total`."""
    if len(pods) < total:
        what = "new PodSecurity enforce level only checked against the first"
        yield f"{what} {len(pods)} of {total} existing pods"
    by_reasons: dict[str, list[str]] = {}
    for pod in pods:
        if found := violations(enforced, Pod.of(pod)):
            by_reasons.setdefault(reasons(found), []).append(pod["metadata"]["name"])
    if by_reasons:
        yield f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{enforced}"'
    yield from sorted(f"{_first_of(names)}: {why}" for why, names in by_reasons.items())


def _first_of(names: Sequence[str]) -> str:
    others = len(names) - 1
    said = f" (and {others} other {'pod' if others == 1 else 'pods'})" if others else ""
    return f"{min(names)}{said}"
