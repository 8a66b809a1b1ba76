"""LimitRanges: what containers, Pods and claims may ask for in a namespace, and what they get that ask for nothing.

Defaults are filled in with the other code of this process, and bounds are looked at when everybody has had their say,
so that a webhook may bring an object within them.

Kubernetes: plugin/pkg/admission/limitranger; the same.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver import errors
from kubeserver.admission import AdmissionReview
from kubeserver.admission.limit_bounds import Amounts, claim_faults, pod_faults
from kubeserver.kinds.pods import quality_of_service
from kubeserver.store import Store
from kubeserver.values import entries, section

ANNOTATION = "kubernetes.io/limit-ranger"
_LIMITS, _PODS, _CLAIMS = "//limitranges/", "//pods/", "//persistentvolumeclaims/"
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))


class LimitRanges:
    """An `Admission`, and one of those who judge."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, review: AdmissionReview) -> Manifest:
        if review.kind.prefix != _PODS or review.operation != "CREATE":
            return review.object
        pod = review.object
        for ranges in self._ranges(review.namespace):
            pod = _completed(pod, ranges)
        return pod

    async def validate(self, review: AdmissionReview) -> None:
        """Raises: Refused, with everything that is out of bounds in the first LimitRange that is not kept."""
        look = _look(review)
        if look is None or "deletionTimestamp" in section(review.old_object or {}, "metadata"):
            return
        for ranges in self._ranges(review.namespace):
            found = list(dict.fromkeys(said for limit in _limits(ranges) for said in look(limit)))
            if found:
                name = review.name or section(review.object, "metadata").get("name", "")
                said = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
                raise errors.forbidden(review.kind.group, review.kind.plural, name, said)

    def _ranges(self, namespace: str) -> list[Manifest]:
        return [codec.decode_manifest(record.value) for record in self._store.list(f"{_LIMITS}{namespace}/").records]


def _look(review: AdmissionReview) -> Callable[[Mapping[str, Any]], Iterator[str]] | None:
    """Function that holds one limit against the object; None where limits do not matter."""
    kind, new, old = review.kind.prefix, review.object, review.old_object
    operation = (review.operation, review.subresource)
    if kind == _CLAIMS and operation in (("CREATE", ""), ("UPDATE", "")):
        return lambda limit: claim_faults(limit, new, old)
    if kind == _PODS and operation in (("CREATE", ""), ("UPDATE", "resize")):
        return lambda limit: pod_faults(limit, section(new, "spec"), section(old or {}, "spec"))
    return None


def _limits(ranges: ReadOnlyManifest) -> list[dict[str, Any]]:
    return entries(section(ranges, "spec"), "limits")


def _completed(pod: Manifest, ranges: ReadOnlyManifest) -> Manifest:
    """The Pod with the defaults of one LimitRange; itself where it lacks none."""
    of_containers = [limit for limit in _limits(ranges) if limit.get("type") == "Container"]
    requests = {name: amount for limit in of_containers for name, amount in section(limit, "defaultRequest").items()}
    limits = {name: amount for limit in of_containers for name, amount in section(limit, "default").items()}
    spec, filled = dict(section(pod, "spec")), list[str]()
    for field, called in _CONTAINERS:
        if field in spec:
            spec[field] = [_filled(c, requests, limits, called, filled) for c in entries(spec, field)]
    if not filled:
        return pod
    metadata: dict[str, Any] = section(pod, "metadata")
    annotations = {**section(metadata, "annotations"), ANNOTATION: f"LimitRanger plugin set: {'; '.join(filled)}"}
    status = {**section(pod, "status"), "qosClass": quality_of_service(spec)}
    return {**pod, "metadata": {**metadata, "annotations": annotations}, "spec": spec, "status": status}


def _filled(
    container: dict[str, Any], requests: Amounts, limits: Amounts, called: str, filled: list[str]
) -> dict[str, Any]:
    resources = section(container, "resources")
    for field, what, defaults in (("requests", "request", requests), ("limits", "limit", limits)):
        missing = sorted(name for name in defaults if name not in section(resources, field))
        if missing:
            filled.append(f"{', '.join(missing)} {what} for {called} {container.get('name', '')}")
            resources = {**resources, field: {**section(resources, field), **{n: defaults[n] for n in missing}}}
    return {**container, "resources": resources}
