"""Conditions under which a kube-apiserver need not ask us, in CEL: so that what our controllers write in an outage does
not wait for a webhook that may have died with the cluster.

Each is said of what is written and not of who writes it, so that there is nothing to pretend: an update that changes
nothing that we would judge. Servers before 1.28 do not know conditions, drop them, and ask for each.

An expression that fails refuses the write: fields that may be missing are asked for first.
"""

from collections.abc import Sequence

from kubeapi.codec import encode
from leeward.api.names import AGENT_GROUP, ALLOW_HTTP_ANNOTATION, CONDITION_TAINT_KEYS, FLAPPING_TAINT, WORK_ID_LABEL
from leeward.api.rules.bindings import DEPENDENCIES_ANNOTATION

CONDITIONS = "matchConditions"
_IN_OUTAGES = ("clusters", "gracefulEvictionTasks", "requiredBy")
"""Fields of a binding's spec that change when its copies move."""


def _listed(texts: Sequence[str]) -> str:
    return encode(list(texts)).decode()


def _same_but(fields: Sequence[str]) -> str:
    """The spec is as it was, but for these fields."""
    free = f"k in {_listed(fields)}"
    kept = f"object.spec.all(k, {free} || (k in oldObject.spec && object.spec[k] == oldObject.spec[k]))"
    return f"{kept} && oldObject.spec.all(k, {free} || k in object.spec)"


def _same_annotation(name: str) -> str:
    new, old = (
        f'(has({each}.metadata.annotations) && "{name}" in {each}.metadata.annotations'
        f' ? {each}.metadata.annotations["{name}"] : "")'
        for each in ("object", "oldObject")
    )
    return f"{new} == {old}"


def _same_taints_but(keys: Sequence[str]) -> str:
    """The taints of other keys are as they were."""
    new, old = (
        f"(has({each}.spec.taints) ? {each}.spec.taints : []).filter(t, !(t.key in {_listed(keys)}))"
        for each in ("object", "oldObject")
    )
    return f"{new} == {old}"


def _same_labels() -> str:
    new, old = (f"(has({each}.metadata.labels) ? {each}.metadata.labels : {{}})" for each in ("object", "oldObject"))
    return f"{new} == {old}"


def _unless(name: str, *all_hold: str) -> dict[str, str]:
    """Condition to ask unless all of these hold."""
    return {"name": name, "expression": f"!({' && '.join(all_hold)})"}


LACKS_IDENTITY = {
    "name": "lacks-its-identity.leeward.dev",
    "expression": (
        '!(request.resource.group == "work.karmada.io" && request.resource.resource == "works"'
        f' && has(object.metadata.labels) && "{WORK_ID_LABEL}" in object.metadata.labels'
        f' && object.metadata.labels["{WORK_ID_LABEL}"] != "")'
    ),
}
"""A Work that brings its own, as those of our controllers do, is left as it is: nobody need be asked."""
IS_AGENT = {"name": "is-an-agent.leeward.dev", "expression": f'"{AGENT_GROUP}" in request.userInfo.groups'}
"""Condition for `karmada-system`, where components make their Leases, too: they need not ask."""
CHANGES_CLUSTER = _unless(
    "changes-more-than-taints-of-an-outage.leeward.dev",
    'request.operation == "UPDATE"',
    'request.resource.group == "cluster.karmada.io"',
    f'!(has(request.userInfo.groups) && "{AGENT_GROUP}" in request.userInfo.groups)',
    _same_but(("taints",)),
    _same_taints_but((*CONDITION_TAINT_KEYS, FLAPPING_TAINT)),
    _same_annotation(ALLOW_HTTP_ANNOTATION),
    _same_labels(),
)
"""The taints of an outage are ours, and nothing is judged about them. An agent may not write to other Clusters."""
CHANGES_BINDING = _unless(
    "changes-more-than-a-placement.leeward.dev",
    'request.operation == "UPDATE"',
    'request.resource.group == "work.karmada.io"',
    _same_but(_IN_OUTAGES),
    _same_annotation(DEPENDENCIES_ANNOTATION),
    _same_labels(),
)
"""A binding reaches what it reached before. Not to be set where quotas are enforced: those judge placements."""
