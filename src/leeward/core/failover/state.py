"""The state of a copy that is to outlive it: read by JSONPath from what it reported last, and given to its replacement.

The task by which the copy leaves carries it, as labels by name; `core.execution.works` puts them on the replacement.

Karmada: pkg/util/helper (`BuildPreservedLabelState`); same, and what is missing is carried forward from the failover
that brought the application to this cluster.
"""

from collections.abc import Mapping

from kubeapi.jsonpath import JSONPathError, compile_template
from leeward.api.policy import StatePreservation
from leeward.api.work import AggregatedStatusItem, ResourceBindingSpec


class StateNotPreserved(Exception):
    """What the policy wants to preserve cannot be found in the status of the copy."""


def preserved_state(
    spec: ResourceBindingSpec, preservation: StatePreservation | None, left: AggregatedStatusItem
) -> Mapping[str, str]:
    """By label: what the copy reports, else what an earlier failover has brought to it. Raises: StateNotPreserved."""
    if preservation is None:
        return {}
    state = dict(_carried_state(spec, left.cluster_name))
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


def _carried_state(spec: ResourceBindingSpec, cluster: str) -> Mapping[str, str]:
    """The state of the last failover, if it is the one that has brought the application to this cluster."""
    latest = spec.graceful_eviction_tasks[-1] if spec.graceful_eviction_tasks else None
    return {} if latest is None or cluster in latest.clusters_before_failover else latest.preserved_label_state
