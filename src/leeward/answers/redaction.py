"""Redaction of the objects in a picture of a fleet: it keeps what decisions look at, and no more.

Manifests inside of Works keep their names, and how many replicas they ask for; statuses keep their figures
and addresses, and those of Jobs whether they have ended. The contents of Secrets and ConfigMaps, environment
variables, and the texts of statuses are left out, but for the fields that a policy hands on to the replacement
(`statePreservation`), and so are credentials of proxies. Annotations stay that decisions read, and messages that speak
of clusters and names.

`tests/world/pictures.py` decides on each picture and on the objects that it was made of, and finds what is missing.
`tests/security/test_snapshot.py` marks each text of each kind, and finds which of them stay.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from kubeapi.meta import Manifest, ObjectMeta, ReadOnlyManifest, TypedObject, parse_time
from kubeapi.untrusted import mapping_in, mappings_in, text_in
from leeward.api import names
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import TEMPLATE_GENERATION_ANNOTATION
from leeward.api.ordinals import ORDINALS_ANNOTATION
from leeward.api.outage import ClusterOutage
from leeward.api.rollout import (
    REVISION_ANNOTATION,
    ROLLOUT_APPROVED_ANNOTATION,
    ROLLOUT_CONDITION,
    ROLLOUT_PAUSED_ANNOTATION,
    ROLLOUT_STATE_ANNOTATION,
    ROLLOUT_UNDONE_ANNOTATION,
)
from leeward.api.work import (
    AggregatedStatusItem,
    Binding,
    ClusterResourceBinding,
    GracefulEvictionTask,
    ManifestStatus,
    ResourceBinding,
    Work,
)
from leeward.api.work import WorkloadTemplate as _WorkloadTemplate
from leeward.core.copies.memory import EARLIER_MEMORY_ANNOTATIONS
from leeward.core.eviction.stalled_replacements import DISPATCHING, NOT_RENDERED, NOT_TAKEN
from leeward.core.execution.held_volumes import HELD
from leeward.core.execution.removal_conditions import REFUSES
from leeward.core.hub_generation import HUB_FENCE_CONDITION
from leeward.core.propagation.claiming import CLAIM_ANNOTATIONS, OPTION_ANNOTATIONS, TEMPLATE_ANNOTATIONS

LEFT_OUT = "(left out of the picture)"
KEPT_ANNOTATIONS = frozenset(
    (
        *CLAIM_ANNOTATIONS,
        *OPTION_ANNOTATIONS,
        *TEMPLATE_ANNOTATIONS,
        *EARLIER_MEMORY_ANNOTATIONS,
        ORDINALS_ANNOTATION,
        names.ALLOW_HTTP_ANNOTATION,
        names.APPLIED_PLACEMENT_ANNOTATION,
        names.AWAITED_GATE_ANNOTATION,
        names.BINDING_NAMESPACE_ANNOTATION,
        names.BINDING_NAME_ANNOTATION,
        names.CLUSTER_BINDING_NAME_ANNOTATION,
        names.CONFIRMED_IDENTITY_ANNOTATION,
        names.DEPENDENCIES_ANNOTATION,
        names.DEPENDENCIES_REFUSED_ANNOTATION,
        names.DRAIN_BUDGET_ANNOTATION,
        names.FLAPPING_ANNOTATION,
        names.HOME_ANNOTATION,
        names.IMPERSONATOR_ROLE_ANNOTATION,
        names.LINT_IGNORE_ANNOTATION,
        names.MEMORY_ANNOTATION,
        names.OUTAGE_ANNOTATION,
        names.OUTAGE_CONFIRMED_ANNOTATION,
        names.POLICY_TAINTS_ANNOTATION,
        names.POLICY_TAINTS_CONFIRMED_ANNOTATION,
        names.PRESERVED_STATE_ANNOTATION,
        names.REASSIGNED_ANNOTATION,
        names.RELEASED_ANNOTATION,
        names.REMOVAL_HELD_ANNOTATION,
        names.REMOVAL_ORDERED_ANNOTATION,
        names.RENDERED_ANNOTATION,
        REVISION_ANNOTATION,
        ROLLOUT_APPROVED_ANNOTATION,
        ROLLOUT_PAUSED_ANNOTATION,
        ROLLOUT_STATE_ANNOTATION,
        ROLLOUT_UNDONE_ANNOTATION,
        names.TEMPLATE_CONTENTS_ANNOTATION,
        names.TEMPLATE_DIGEST_ANNOTATION,
    )
)
"""Annotations that decisions and answers read."""
TOLD_CONDITIONS = frozenset(
    (
        "Ready",
        "Scheduled",
        "FullyApplied",
        "CompleteAPIEnablements",
        DISPATCHING,
        HUB_FENCE_CONDITION,
        names.CLUSTER_OUTAGE_CONDITION,
        names.DOUBTFUL_CONDITION,
        names.EVICTION_HELD_CONDITION,
        names.FAILING_CONDITION,
        names.FEATURE_HELD_CONDITION,
        names.IDENTITY_CONDITION,
        names.LAST_SEEN_CONDITION,
        names.LOSS_COVERED_CONDITION,
        names.NOT_OBSERVED_CONDITION,
        names.OUTDATED_CONDITION,
        names.REACHABLE_CONDITION,
        names.REMOVAL_BLOCKED_CONDITION,
        names.REPLACED_CONDITION,
        names.REPLACEMENT_HELD_CONDITION,
        ROLLOUT_CONDITION,
        names.TAINTED_CONDITION,
        names.TAINTS_REMOVED_CONDITION,
        names.VOLUMES_HELD_CONDITION,
    )
)
"""Types of conditions whose messages speak of clusters and names. A member's own words may quote a manifest."""
SERVICE_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
JOB_CONDITIONS = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended")
QUOTING = (NOT_TAKEN, NOT_RENDERED, REFUSES)
"""Words behind which a message quotes another one, which may have values of a manifest."""
FieldPath = tuple[str, ...]
_NAMES = re.compile(r"\{\s*\$?((?:\.[\w-]+)+)\s*\}")
"""Paths that consist of names. What a path with filters and indexes finds is left out."""
_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s@]*@")
_QUOTED = re.compile("|".join(f"(?<={re.escape(words)}).+" for words in QUOTING), re.DOTALL)
AnyObject = TypeVar("AnyObject", bound=TypedObject)


def redacted_object(value: AnyObject) -> AnyObject:
    """The object with the annotations that decisions read."""
    return msgspec.structs.replace(value, metadata=redacted_metadata(value.metadata))


def redacted_metadata(metadata: ObjectMeta) -> ObjectMeta:
    if metadata.annotations.keys() <= KEPT_ANNOTATIONS:
        return metadata
    kept = {name: value for name, value in metadata.annotations.items() if name in KEPT_ANNOTATIONS}
    return msgspec.structs.replace(metadata, annotations=kept)


def redacted_text(message: str) -> str:
    """A message of ours without credentials in addresses, and without the member's words that it quotes."""
    return _QUOTED.sub(LEFT_OUT, _CREDENTIALS.sub("", message))


def redacted_conditions(conditions: Sequence[Condition], secret: str = "") -> tuple[Condition, ...]:
    return tuple(msgspec.structs.replace(each, message=_message_of(each, secret)) for each in conditions)


def _message_of(condition: Condition, secret: str) -> str:
    if condition.type in TOLD_CONDITIONS or condition.message.startswith(HELD) or not condition.message:
        return redacted_text(condition.message.replace(secret, LEFT_OUT) if secret else condition.message)
    return LEFT_OUT


def redacted_cluster(cluster: Cluster) -> Cluster:
    endpoint, proxy = _CREDENTIALS.sub("", cluster.spec.api_endpoint), cluster.spec.proxy_url
    spec = msgspec.structs.replace(cluster.spec, api_endpoint=endpoint, proxy_header={}, proxy_url="")
    conditions = redacted_conditions(cluster.status.conditions, secret=proxy)
    status = msgspec.structs.replace(cluster.status, conditions=conditions)
    return msgspec.structs.replace(redacted_object(cluster), spec=spec, status=status)


def redacted_outage(outage: ClusterOutage) -> ClusterOutage:
    status = outage.status
    steps, listed = (
        tuple(msgspec.structs.replace(each, message=redacted_text(each.message)) for each in told)
        for told in (status.steps, status.listed)
    )
    status = msgspec.structs.replace(status, message=redacted_text(status.message), steps=steps, listed=listed)
    return msgspec.structs.replace(redacted_object(outage), status=status)


def redacted_binding(binding: ResourceBinding, *, messages: bool = False) -> ResourceBinding:
    """`messages` stay whole where they are told to who may read the binding."""
    return _redacted(binding, messages)


def redacted_cluster_binding(binding: ClusterResourceBinding, *, messages: bool = False) -> ClusterResourceBinding:
    return _redacted(binding, messages)


def _redacted(binding: Any, messages: bool) -> Any:
    fields = preserved_fields(binding)
    items = tuple(_redacted_item(item, fields, messages) for item in binding.status.aggregated_status)
    conditions, tasks = binding.status.conditions, binding.spec.graceful_eviction_tasks
    if not messages:
        conditions = redacted_conditions(conditions)
        tasks = tuple(msgspec.structs.replace(each, message=_message_of_task(each)) for each in tasks)
    return msgspec.structs.replace(
        redacted_object(binding),
        spec=msgspec.structs.replace(binding.spec, graceful_eviction_tasks=tasks),
        status=msgspec.structs.replace(binding.status, aggregated_status=items, conditions=conditions),
    )


def _message_of_task(task: GracefulEvictionTask) -> str:
    return redacted_text(task.message)[: max(len(task.message), len(LEFT_OUT))]


def preserved_fields(binding: Binding) -> tuple[FieldPath, ...]:
    """Fields of a status that a failover hands on, as far as its policy names them by names alone."""
    failover = binding.spec.failover
    causes = () if failover is None else (failover.cluster, failover.application)
    asked = [cause.state_preservation for cause in causes if cause is not None]
    texts = [rule.json_path for preservation in asked if preservation is not None for rule in preservation.rules]
    return tuple(tuple(names[1:].split(".")) for text in texts for names in _NAMES.findall(text))


def redacted_work(work: Work, preserved: Sequence[FieldPath] = (), *, messages: bool = False) -> Work:
    """The Work without what nobody is to read; `preserved` are fields of statuses that are kept, see
    `preserved_fields`; `messages` as in `redacted_binding`."""
    conditions = work.status.conditions
    manifests = tuple(redacted_manifest(manifest) for manifest in work.spec.workload.manifests)
    statuses = tuple(_redacted_status(status, preserved) for status in work.status.manifest_statuses)
    return msgspec.structs.replace(
        redacted_object(work),
        spec=msgspec.structs.replace(work.spec, workload=_WorkloadTemplate(manifests=manifests)),
        status=msgspec.structs.replace(
            work.status,
            manifest_statuses=statuses,
            conditions=conditions if messages else redacted_conditions(conditions),
        ),
    )


def redacted_manifest(manifest: ReadOnlyManifest) -> Manifest:
    """Kind and names, the replicas, and of which generation of the template it is; of a Service its type."""
    metadata, spec = mapping_in(manifest, "metadata"), mapping_in(manifest, "spec")
    generation = text_in(mapping_in(metadata, "annotations"), TEMPLATE_GENERATION_ANNOTATION)
    kept: Manifest = {name: text_in(metadata, name) for name in ("name", "namespace") if name in metadata}
    if generation:
        kept["annotations"] = {TEMPLATE_GENERATION_ANNOTATION: generation}
    asked = {"replicas": spec["replicas"]} if _is_figure(spec.get("replicas")) else {}
    if manifest.get("kind") == "Service" and spec.get("type") in SERVICE_TYPES:
        asked["type"] = spec["type"]
    found = {"apiVersion": text_in(manifest, "apiVersion"), "kind": text_in(manifest, "kind"), "metadata": kept}
    return {**found, "spec": asked} if asked else found


def figures(status: object) -> Manifest | None:
    """The numbers of a status, and the addresses that an outage can lose."""
    found = _mapping(status)
    kept = {name: value for name, value in found.items() if _is_figure(value)}
    if "loadBalancer" in found:
        entries = mappings_in(mapping_in(found, "loadBalancer"), "ingress")
        addresses = [{name: text_in(each, name) for name in ("ip", "hostname") if name in each} for each in entries]
        kept["loadBalancer"] = {"ingress": addresses} if addresses else {}
    return kept or None


def progress_of_job(status: object) -> Manifest:
    """Time since which a Job runs, and which of its conditions are true: whether it has ended."""
    found = _mapping(status)
    kept: Manifest = {"startTime": text_in(found, "startTime")} if _is_time(text_in(found, "startTime")) else {}
    if "conditions" in found:
        conditions = [each for each in mappings_in(found, "conditions") if text_in(each, "type") in JOB_CONDITIONS]
        kept["conditions"] = [
            {"type": text_in(each, "type"), "status": "True" if text_in(each, "status") == "True" else "False"}
            for each in conditions
        ]
    return kept


def _redacted_item(item: AggregatedStatusItem, preserved: Sequence[FieldPath], messages: bool) -> AggregatedStatusItem:
    told = item.applied_message
    if told and not messages:
        told = redacted_text(told) if told.startswith(HELD) else LEFT_OUT
    return msgspec.structs.replace(item, status=_kept(item.status, preserved), applied_message=told)


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


def _is_time(text: str) -> bool:
    try:
        return bool(parse_time(text))
    except ValueError:
        return False


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
