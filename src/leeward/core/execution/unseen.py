"""Copies in clusters that are not seen, as a template counts them: they are there, and are not known to be ready.

    replicas, updated replicas, desired, active   as they were reported last: autoscalers and quotas go by them
    ready, available, healthy                     not counted; unavailable ones are
    conditions Ready, Available, Healthy          Unknown
    health                                        Unknown

Every rule that adds up statuses gets such items: the built-in ones, those of other projects, scripts and webhooks. A
workload of Kubernetes' own has the condition `leeward.dev/ClusterOutage`, too. The binding has what was reported last,
as in Karmada, with the instant since which nothing is known. Differs from Karmada, whose templates stay ready.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import msgspec

from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeapi.unstructured import list_at, text_at
from leeward.api.meta import Condition
from leeward.api.names import CLUSTER_OUTAGE_CONDITION
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter import ResourceHealth
from leeward.core.interpreter.jobs import says_finished

NOT_SEEN = "ClusterNotSeen"
"""Reason of conditions that hang on a cluster of which nothing is known."""
_NAMED = 5
WORKLOADS = frozenset(
    {
        ("apps/v1", "Deployment"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("apps/v1", "ReplicaSet"),
        ("batch/v1", "Job"),
    }
)
"""Kinds that take a condition of any type; a definition of somebody else's may refuse it."""
_READY_COUNT = re.compile(
    r"(?!desired|expected|min|max).*(?<!un)(?<!not)(ready|available|healthy).*|disruptionsallowed"
)
_READY_CONDITION = re.compile(r"(?!.*Not)(.*[a-z/.])?(Ready|Available|Healthy)|ready|available|healthy")
_COMPLEMENTS = {"availableReplicas": "unavailableReplicas", "numberAvailable": "numberUnavailable"}
_CONTAINERS = ("containerStatuses", "initContainerStatuses")


def as_seen(
    items: Sequence[AggregatedStatusItem], not_seen: Mapping[str, datetime]
) -> tuple[AggregatedStatusItem, ...]:
    """The items, of which those of clusters that are not seen have nothing that is ready."""
    return tuple(
        _unseen(item, not_seen[item.cluster_name]) if item.cluster_name in not_seen else item for item in items
    )


def outage_condition(
    template: ReadOnlyManifest, status: ReadOnlyManifest, not_seen: Mapping[str, datetime]
) -> Condition | None:
    """Condition ClusterOutage of a template with copies in clusters that are not seen, unless its Job has finished."""
    if not not_seen or (template.get("kind") == "Job" and says_finished(status)):
        return None
    names = sorted(not_seen)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    said = ", ".join(f"{name} (since {format_time(not_seen[name])})" for name in names[:_NAMED])
    message = (
        f"Nothing is known of {said}{more}. Replicas there do not count as ready; the binding tells what is planned"
    )
    return Condition(CLUSTER_OUTAGE_CONDITION, "True", NOT_SEEN, message)


def says_outage(template: ReadOnlyManifest) -> bool:
    """Tells whether the template has the condition ClusterOutage."""
    conditions = list_at(template, "status", "conditions")
    return any(text_at(each, "type") == CLUSTER_OUTAGE_CONDITION for each in conditions)


def _unseen(item: AggregatedStatusItem, since: datetime) -> AggregatedStatusItem:
    health = ResourceHealth.UNKNOWN.value
    reported: object = item.status
    if not isinstance(reported, dict):
        return msgspec.structs.replace(item, health=health)
    status = dict(cast(Manifest, reported))
    for name, value in cast(Manifest, reported).items():
        if _number(value) != 0 and _READY_COUNT.fullmatch(name.lower()) is not None:
            status[name] = 0
            if (complement := _COMPLEMENTS.get(name)) is not None:
                status[complement] = value + _number(status.get(complement))
        elif name == "conditions":
            status[name] = [_unknown(each, item.cluster_name, since) for each in list_at(status, name)]
        elif name in _CONTAINERS:
            status[name] = [_not_ready(each) for each in list_at(status, name)]
    return msgspec.structs.replace(item, status=status, health=health)


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _unknown(condition: Any, cluster: str, since: datetime) -> Any:
    """A condition that says that it is ready, as one of which that is not known."""
    if _READY_CONDITION.fullmatch(text_at(condition, "type")) is None or text_at(condition, "status") != "True":
        return condition
    message = f"nothing is known of {cluster} (since {format_time(since)})"
    return {**condition, "status": "Unknown", "reason": NOT_SEEN, "message": message}


def _not_ready(container: Any) -> Any:
    return {**cast(Manifest, container), "ready": False} if isinstance(container, dict) else container
