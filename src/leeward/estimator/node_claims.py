"""Node claims: which nodes take a Pod with this selector, this affinity and these tolerations.

Karmada: pkg/estimator/server/nodes (kube-scheduler's own rules); same, except that a node which is not Ready takes
nothing, whatever is tolerated: what was placed there would not run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubeapi.meta import LabelSelectorRequirement
from kubeapi.selectors import Requirement, Selector, matches
from leeward.api.core import Node, NodeSelectorTerm, Taint, Toleration
from leeward.api.work import ComponentReplicaRequirements
from leeward.core.toleration import tolerates, untolerated_taint

_UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_Term = tuple[Selector, Selector]
"""Selectors of labels and of fields; all of both must match."""


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """`terms`: one of them must match; None is no affinity, and an empty tuple one that nothing matches."""

    labels: Mapping[str, str]
    tolerations: Sequence[Toleration]
    terms: tuple[_Term, ...] | None

    @staticmethod
    def of(requirements: ComponentReplicaRequirements | None) -> "NodeFilter":
        claim = None if requirements is None else requirements.node_claim
        if claim is None:
            return NodeFilter({}, (), None)
        affinity = claim.hard_node_affinity
        terms = None if affinity is None else tuple(map(_term, affinity.node_selector_terms))
        return NodeFilter(claim.node_selector, claim.tolerations, terms)

    def takes(self, node: Node) -> bool:
        return (
            is_ready(node)
            and self._tolerates(node)
            and self.labels.items() <= node.metadata.labels.items()
            and (self.terms is None or any(_matches(term, node) for term in self.terms))
        )

    def _tolerates(self, node: Node) -> bool:
        if node.spec.unschedulable and not any(tolerates(each, _UNSCHEDULABLE) for each in self.tolerations):
            return False
        return untolerated_taint(node.spec.taints, self.tolerations) is None


def is_ready(node: Node) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def _term(term: NodeSelectorTerm) -> _Term:
    return _selector(term.match_expressions), _selector(term.match_fields)


def _selector(requirements: Sequence[LabelSelectorRequirement]) -> Selector:
    return tuple(Requirement(each.key, each.operator, each.values) for each in requirements)


def _matches(term: _Term, node: Node) -> bool:
    """An empty term matches nothing."""
    labels, fields = term
    if not labels and not fields:
        return False
    return matches(labels, node.metadata.labels) and matches(fields, {"metadata.name": node.name})
