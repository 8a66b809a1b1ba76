"""The state of a copy that is to outlive it: read by JSONPath from its last report, and given to its replacement.

The task by which the copy leaves carries it, as labels by name; `core.execution.works` puts them on the replacement.
When the task has ended, an annotation of the binding keeps them while the application stays there, for late readers.

Karmada: pkg/util/helper (`BuildPreservedLabelState`); same, but that there they go with the task. Here missing state is
carried forward from the failover that brought the application to this cluster.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

import msgspec

from kubeapi.codec import DecodeError, decode, encode
from kubeapi.jsonpath import JSONPathError, compile_template
from leeward.api.names import PRESERVED_STATE_ANNOTATION
from leeward.api.policy import StatePreservation
from leeward.api.work import AggregatedStatusItem, Binding, GracefulEvictionTask, TargetCluster


class StateNotPreserved(Exception):
    """State that the policy wants to preserve is not found in the status of the copy."""


def preserved_state(
    binding: Binding, preservation: StatePreservation | None, left: AggregatedStatusItem
) -> Mapping[str, str]:
    """State by label: that of the copy's report, else that of an earlier failover.

    Raises: StateNotPreserved."""
    if preservation is None:
        return {}
    state = dict(carried_state(binding, left.cluster_name))
    for rule in preservation.rules:
        try:
            state[rule.alias_label_name] = _extract(rule.json_path, left)
        except JSONPathError as error:
            if rule.alias_label_name not in state:
                raise StateNotPreserved(f"the label {rule.alias_label_name}: {error}") from None
    return state


def _extract(path: str, left: AggregatedStatusItem) -> str:
    render = compile_template(path)
    if left.status is None:
        raise JSONPathError(f"the status in {left.cluster_name} has not been collected yet")
    return render(left.status)


def carried_state(binding: Binding, cluster: str) -> Mapping[str, str]:
    """The state of the last failover, if it is the one that has brought the application to this cluster."""
    tasks = binding.spec.graceful_eviction_tasks
    if not tasks:
        return _kept_state(binding, cluster)
    return {} if cluster in tasks[-1].clusters_before_failover else tasks[-1].preserved_label_state


def state_to_inject(binding: Binding, cluster: str) -> Mapping[str, str]:
    """State that the last failover has preserved, for the one cluster that the application has moved to."""
    spec = binding.spec
    needed = (target.name for group in chain((spec,), spec.required_by) for target in group.clusters)
    if next(needed, "") != cluster or any(name != cluster for name in needed):
        return {}
    brought = [task for task in spec.graceful_eviction_tasks[-1:] if _brings(task, cluster)]
    return brought[0].preserved_label_state if brought else _kept_state(binding, cluster)


def preserved_state_patch(
    binding: Binding, targets: Sequence[TargetCluster], open_in: set[str]
) -> Mapping[str, str | None]:
    """The change of the binding's annotations that keeps preserved state once the task of the failover has ended.

    It stays as long as the application has these `targets`; `open_in` are the clusters that it is still leaving.
    """
    present = binding.metadata.annotations.get(PRESERVED_STATE_ANNOTATION)
    if len(targets) != 1:
        return {} if present is None else {PRESERVED_STATE_ANNOTATION: None}
    cluster = targets[0].name
    ended = [task for task in binding.spec.graceful_eviction_tasks[-1:] if task.from_cluster not in open_in]
    brought = [task.preserved_label_state for task in ended if task.preserved_label_state and _brings(task, cluster)]
    labels = brought[0] if brought else _kept_state(binding, cluster)
    text = encode(_Preserved(cluster, labels)).decode() if labels else None
    return {} if text == present else {PRESERVED_STATE_ANNOTATION: text}


class _Preserved(msgspec.Struct, frozen=True):
    """The annotation's contents."""

    cluster: str
    labels: Mapping[str, str]


def _brings(task: GracefulEvictionTask, cluster: str) -> bool:
    """Tells whether this eviction has brought the application, and its state, to the cluster."""
    return not task.purge_rules.keeps_copy and cluster not in task.clusters_before_failover


def _kept_state(binding: Binding, cluster: str) -> Mapping[str, str]:
    """State that an eviction which has ended brought to the cluster; nothing where nobody can read it."""
    try:
        kept = decode(binding.metadata.annotations[PRESERVED_STATE_ANNOTATION].encode(), _Preserved)
    except (KeyError, DecodeError):
        return {}
    return kept.labels if kept.cluster == cluster else {}
