"""Redaction of the objects in a picture of a fleet: it keeps what decisions look at, and no more.

Manifests inside of Works keep their names, and how many replicas they ask for; statuses keep their figures, and those
of Jobs whether they have ended. The contents of Secrets and ConfigMaps, environment variables, and what applications
say of themselves are left out, but for the fields that a policy hands on to the replacement (`statePreservation`), and
so are credentials of proxies. `tests/world/pictures.py` decides on each picture and on the objects that it was made of,
and finds what is missing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from kubeapi.meta import Manifest, ObjectMeta, ReadOnlyManifest
from kubeapi.untrusted import mappings_in, text_in
from leeward.api.cluster import Cluster
from leeward.api.names import TEMPLATE_GENERATION_ANNOTATION
from leeward.api.work import (
    AggregatedStatusItem,
    Binding,
    ClusterResourceBinding,
    ManifestStatus,
    ResourceBinding,
    Work,
)
from leeward.api.work import WorkloadTemplate as _WorkloadTemplate

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KEPT_STATUS = ("loadBalancer",)
"""Fields of a status that are no figures, and are kept: the addresses that an outage can lose."""
FieldPath = tuple[str, ...]
_NAMES = re.compile(r"\{\s*\$?((?:\.[\w-]+)+)\s*\}")
"""Paths that consist of names. What a path with filters and indexes finds is left out."""


def redacted_metadata(metadata: ObjectMeta) -> ObjectMeta:
    if LAST_APPLIED not in metadata.annotations:
        return metadata
    kept = {name: value for name, value in metadata.annotations.items() if name != LAST_APPLIED}
    return msgspec.structs.replace(metadata, annotations=kept)


def redacted_cluster(cluster: Cluster) -> Cluster:
    spec = msgspec.structs.replace(cluster.spec, proxy_header={}, proxy_url="")
    return msgspec.structs.replace(cluster, metadata=redacted_metadata(cluster.metadata), spec=spec)


def redacted_binding(binding: ResourceBinding) -> ResourceBinding:
    return _redacted(binding)


def redacted_cluster_binding(binding: ClusterResourceBinding) -> ClusterResourceBinding:
    return _redacted(binding)


def _redacted(binding: Any) -> Any:
    fields = preserved_fields(binding)
    items = tuple(_redacted_item(item, fields) for item in binding.status.aggregated_status)
    status = msgspec.structs.replace(binding.status, aggregated_status=items)
    return msgspec.structs.replace(binding, metadata=redacted_metadata(binding.metadata), status=status)


def preserved_fields(binding: Binding) -> tuple[FieldPath, ...]:
    """Fields of a status that a failover hands on, as far as its policy names them by names alone."""
    failover = binding.spec.failover
    causes = () if failover is None else (failover.cluster, failover.application)
    asked = [cause.state_preservation for cause in causes if cause is not None]
    texts = [rule.json_path for preservation in asked if preservation is not None for rule in preservation.rules]
    return tuple(tuple(names[1:].split(".")) for text in texts for names in _NAMES.findall(text))


def redacted_work(work: Work, preserved: Sequence[FieldPath] = ()) -> Work:
    """The Work without what nobody is to read; `preserved` are fields of statuses that are kept, see
    `preserved_fields`."""
    manifests = tuple(redacted_manifest(manifest) for manifest in work.spec.workload.manifests)
    statuses = tuple(_redacted_status(status, preserved) for status in work.status.manifest_statuses)
    return msgspec.structs.replace(
        work,
        metadata=redacted_metadata(work.metadata),
        spec=msgspec.structs.replace(work.spec, workload=_WorkloadTemplate(manifests=manifests)),
        status=msgspec.structs.replace(work.status, manifest_statuses=statuses),
    )


def redacted_manifest(manifest: ReadOnlyManifest) -> Manifest:
    """Kind and names, the replicas, and of which generation of the template it is; of a Service its type."""
    metadata, spec = _mapping(manifest.get("metadata")), _mapping(manifest.get("spec"))
    annotations = _mapping(metadata.get("annotations"))
    kept: Manifest = {
        "apiVersion": manifest.get("apiVersion", ""),
        "kind": manifest.get("kind", ""),
        "metadata": {name: metadata[name] for name in ("name", "namespace", "labels") if name in metadata},
    }
    if TEMPLATE_GENERATION_ANNOTATION in annotations:
        generation = annotations[TEMPLATE_GENERATION_ANNOTATION]
        kept["metadata"]["annotations"] = {TEMPLATE_GENERATION_ANNOTATION: generation}
    asked = {"replicas": spec["replicas"]} if _is_figure(spec.get("replicas")) else {}
    if manifest.get("kind") == "Service" and "type" in spec:
        asked["type"] = spec["type"]
    return {**kept, "spec": asked} if asked else kept


def figures(status: object) -> Manifest | None:
    """The numbers of a status, and its addresses."""
    found = _mapping(status)
    kept = {name: value for name, value in found.items() if _is_figure(value) or name in KEPT_STATUS}
    return kept or None


def progress_of_job(status: object) -> Manifest:
    """Time since which a Job runs, and which of its conditions are true: whether it has ended."""
    found = _mapping(status)
    kept: Manifest = {"startTime": found["startTime"]} if "startTime" in found else {}
    if "conditions" in found:
        conditions = mappings_in(found, "conditions")
        kept["conditions"] = [{name: text_in(each, name) for name in ("type", "status")} for each in conditions]
    return kept


def _redacted_item(item: AggregatedStatusItem, preserved: Sequence[FieldPath]) -> AggregatedStatusItem:
    return msgspec.structs.replace(item, status=_kept(item.status, preserved))


def _redacted_status(status: ManifestStatus, preserved: Sequence[FieldPath]) -> ManifestStatus:
    kept = _kept(status.status, preserved)
    if status.identifier.kind == "Job":
        kept = {**(kept or {}), **progress_of_job(status.status)} or None
    return msgspec.structs.replace(status, status=kept)


def _kept(status: object, preserved: Sequence[FieldPath]) -> Manifest | None:
    return {**(figures(status) or {}), **_only(status, preserved)} or None


def _only(value: object, paths: Sequence[FieldPath]) -> Manifest:
    """The values under these paths, and nothing beside them."""
    found, kept = _mapping(value), dict[str, Any]()
    for name in dict.fromkeys(path[0] for path in paths if path[0] in found):
        below = [path[1:] for path in paths if path[0] == name]
        kept[name] = found[name] if () in below else _only(found[name], below)
    return kept


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
