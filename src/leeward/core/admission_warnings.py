"""Warnings at admission: what the API takes, and nothing carries out (yet), or not in every case.

`UNSUPPORTED` is the one list of Karmada's kinds and fields that are stored and ignored. A line goes when its feature
comes. The embedded API server and the webhook both say what `warnings_for` finds, and kubectl prints it; nothing is
refused, so that manifests that were written for Karmada go on working. `warnings_of_live_templates` are for whoever has
a kube-apiserver, where a template acts on the control plane itself.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, cast

from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import ReadOnlyManifest
from kubeapi.untrusted import mapping_in
from leeward.api.moves_with import MOVES_WITH_ANNOTATION
from leeward.api.names import VOLUMES_FOLLOW_ANNOTATION
from leeward.api.ordinals import BY_CLUSTER, ORDINALS_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.purge_mode import OLD_WORDS, find_purge_mode, rules_of
from leeward.core.interpreter.kinds import KINDS
from leeward.core.moving_together import NOT_IN_ONE, keeps_in_one_cluster

MAX_WARNING_CHARACTERS: Final = 256
"""Kubernetes cuts a longer one off."""

POLICY, CLUSTER = "policy.karmada.io", "cluster.karmada.io"
_PROPAGATION = ((POLICY, "PropagationPolicy"), (POLICY, "ClusterPropagationPolicy"))
_BINDINGS = (("work.karmada.io", "ResourceBinding"), ("work.karmada.io", "ClusterResourceBinding"))


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A field that is stored and ignored.

    `kinds` are pairs of group and kind. `field` has dots. `concerns` says which values of the field ask for something.
    `instead` is what happens, and the way out where there is one.
    """

    kinds: tuple[tuple[str, str], ...]
    field: str
    concerns: Callable[[object], bool]
    instead: str


UNSUPPORTED: Final[Sequence[Unsupported]] = (
    Unsupported(_PROPAGATION, "spec.association", bool, "it is deprecated, and Karmada ignores it, too"),
    Unsupported(((CLUSTER, "Cluster"),), "spec.proxyHeader", bool, "the proxy is called without these headers"),
)

GATED: Final[Sequence[tuple[str, Callable[[object], bool], str]]] = (
    ("spec.placement.workloadAffinity", bool, "WorkloadAffinity"),
    ("spec.preemption", lambda value: value == "Always", "PropagationPolicyPreemption"),
)
"""A field of propagation policies, which values of it ask for something, and the feature gate without which it is
ignored; those that are off by default."""

GATES_WARNED_OF: Final = (
    "FederatedQuotaEnforcement",
    "MultiplePodTemplatesScheduling",
    "PropagationPolicyPreemption",
    "WorkloadAffinity",
)
"""Gates that a warning names as off by default: where one is on, nobody is warned."""

_WEBHOOK_CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_LEADS_TO_PODS = ("Service", "Ingress")
_OVERRIDES = ((POLICY, "OverridePolicy"), (POLICY, "ClusterOverridePolicy"))
_REPLICA_PATHS = ("/spec/replicas", "/spec/parallelism")
_WITH_REPLICAS = frozenset(kind for kind, rules in KINDS.items() if rules.replicas is not None)


class Concern(Enum):
    """Subject of a warning."""

    OLD_WORD = auto()
    UNSUPPORTED = auto()
    GATED = auto()
    NOT_ENFORCED = auto()
    ASSIGNED_TWICE = auto()
    NOT_PRESERVED = auto()
    PARTED = auto()
    OVERRIDDEN_REPLICAS = auto()
    ORDINALS = auto()
    MOVES_APART = auto()


def warnings_for(manifest: ReadOnlyManifest, gates: Collection[str] = ()) -> list[str]:
    """Warnings for whoever creates or updates this object; nothing for one that is being deleted. `gates` are on."""
    return [warning for _, warning in concerns_in(manifest, gates)]


def asks_for_one_of(warning: str, gates: Collection[str]) -> bool:
    """Tells whether one of these gates is what the warning asks for."""
    return any(f"--feature-gates={gate}=true" in warning for gate in gates)


def old_word_warnings(manifest: ReadOnlyManifest) -> list[str]:
    """Warnings of words that Karmada has taken away since, to be asked before defaults replace them."""
    return [] if _value_at(manifest, "metadata.deletionTimestamp") else [*_old_words(manifest, _key_of(manifest))]


def concerns_in(manifest: ReadOnlyManifest, gates: Collection[str] = ()) -> Iterator[tuple[Concern, str]]:
    """Warnings about the manifest, each with what it is about; `gates` are on."""
    if _value_at(manifest, "metadata.deletionTimestamp"):
        return
    key = _key_of(manifest)
    for concern, warnings in _WARNINGS.items():
        yield from ((concern, said) for said in warnings(manifest, key) if not asks_for_one_of(said, gates))


def warnings_of_live_templates(manifest: ReadOnlyManifest) -> list[str]:
    """Warnings about what a kube-apiserver does with templates that a policy selects, beside keeping them for
    members."""
    key = _key_of(manifest)
    if key not in _PROPAGATION or _value_at(manifest, "metadata.deletionTimestamp"):
        return []
    kinds = dict.fromkeys(
        str(s.get("kind"))
        for s in _mappings(manifest, "spec.resourceSelectors")
        if s.get("kind") in _WEBHOOK_CONFIGURATIONS
    )
    return [
        f"{kind}: this kube-apiserver asks the webhooks too, and refuses writes when it cannot: give the template "
        'matchConditions with the expression "false", and remove them in members by a ClusterOverridePolicy'
        for kind in kinds
    ]


def _key_of(manifest: ReadOnlyManifest) -> tuple[str, str]:
    """Group and kind."""
    return str(manifest.get("apiVersion")).partition("/")[0], str(manifest.get("kind"))


def _old_words(manifest: ReadOnlyManifest, key: tuple[str, str]) -> Iterator[str]:
    if key not in (*_PROPAGATION, *_BINDINGS):
        return
    fields = [f"spec.failover.{part}.purgeMode" for part in ("application", "cluster")]
    words = [(field, _value_at(manifest, field)) for field in fields]
    for index, task in enumerate(_mappings(manifest, "spec.gracefulEvictionTasks")):
        words.append((f"spec.gracefulEvictionTasks[{index}].purgeMode", task.get("purgeMode")))
    for field, word in words:
        if isinstance(word, str) and word in OLD_WORDS:
            today = OLD_WORDS[word].value
            yield f"{field}: {word} is read as {today}; write {today}, since Karmada 1.19 refuses {word}"


def _unsupported(manifest: ReadOnlyManifest, key: tuple[str, str]) -> Iterator[str]:
    for line in UNSUPPORTED:
        if key in line.kinds and line.concerns(_value_at(manifest, line.field)):
            yield f"{line.field} is stored and has no effect yet: {line.instead}"


def _gated(manifest: ReadOnlyManifest, key: tuple[str, str]) -> Iterator[str]:
    for field, concerns, gate in GATED:
        if key in _PROPAGATION and concerns(_value_at(manifest, field)):
            yield f"{field} has an effect only with --feature-gates={gate}=true, which is off by default"


def _not_enforced(manifest: ReadOnlyManifest, key: tuple[str, str]) -> Iterator[str]:
    if key == (POLICY, "FederatedResourceQuota") and _value_at(manifest, "spec.overall"):
        yield "spec.overall refuses nothing without --feature-gates=FederatedQuotaEnforcement=true, off by default"


def _assigned_twice(manifest: ReadOnlyManifest, key: tuple[str, str]) -> Iterator[str]:
    """Warns of a second assignment to one cluster: as in Karmada, the first is carried out; both count against
    `spec.overall`."""
    if key != (POLICY, "FederatedResourceQuota"):
        return
    seen: set[str] = set()
    for index, assignment in enumerate(_mappings(manifest, "spec.staticAssignments")):
        name = str(assignment.get("clusterName"))
        if name in seen:
            yield f"spec.staticAssignments[{index}] has no effect: {name} is assigned something before it"
        seen.add(name)


def _not_preserved(manifest: ReadOnlyManifest, key: tuple[str, str]) -> Iterator[str]:
    """A copy of a workload that were preserved where it was evicted would run twice."""
    if key not in _PROPAGATION or _value_at(manifest, "spec.preserveResourcesOnDeletion") is not True:
        return
    kinds = dict.fromkeys(str(s.get("kind")) for s in _mappings(manifest, "spec.resourceSelectors") if _has_replicas(s))
    if kinds:
        yield (
            f"spec.preserveResourcesOnDeletion is not honoured in a failover for what has replicas "
            f"({', '.join(kinds)}): the same copy would run twice"
        )


def _parted(manifest: ReadOnlyManifest, key: tuple[str, str]) -> Iterator[str]:
    """A set that stays with its volumes (decision 83) is left by what leads to it, where one policy places both."""
    selectors = _mappings(manifest, "spec.resourceSelectors") if key in _PROPAGATION else []
    kinds = {str(selector.get("kind")) for selector in selectors}
    leading = [kind for kind in _LEADS_TO_PODS if kind in kinds]
    if "StatefulSet" in kinds and leading and _may_move(manifest):
        yield (
            "StatefulSets with claims stay with their volumes when their cluster fails, and what leads to them "
            f"({', '.join(leading)}) moves: select that by another policy, for all clusters, or annotate "
            f"{VOLUMES_FOLLOW_ANNOTATION}=true"
        )


def _may_move(policy: ReadOnlyManifest) -> bool:
    """Tells whether another cluster would take over, other than by a wish that moves StatefulSets as well."""
    terms = _value_at(policy, "spec.placement.clusterAffinities")
    is_one_of_many = isinstance(terms, list) and len(cast(list[Any], terms)) > 1
    chooses = is_one_of_many or bool(_value_at(policy, "spec.placement.spreadConstraints"))
    annotations = mapping_in(mapping_in(policy, "metadata"), "annotations")
    follows = annotations.get(VOLUMES_FOLLOW_ANNOTATION) == "true"
    mode = find_purge_mode(str(_value_at(policy, "spec.failover.cluster.purgeMode") or ""))
    return chooses and not follows and (mode is None or rules_of(mode).keeps_copy)


def _overridden_replicas(manifest: ReadOnlyManifest, key: tuple[str, str]) -> Iterator[str]:
    """Warns of replicas that are overridden: as in Karmada the override wins in the cluster, and nothing that counts
    replicas knows of it."""
    selectors = _mappings(manifest, "spec.resourceSelectors")
    if key not in _OVERRIDES or (selectors and not any(map(_has_replicas, selectors))):
        return
    rules = [("spec.overriders", _value_at(manifest, "spec.overriders"))]
    for index, rule in enumerate(_mappings(manifest, "spec.overrideRules")):
        rules.append((f"spec.overrideRules[{index}].overriders", rule.get("overriders")))
    for field, overriders in rules:
        patches = _mappings({"overriders": overriders}, "overriders.plaintext")
        for path in dict.fromkeys(str(p.get("path")) for p in patches if p.get("path") in _REPLICA_PATHS):
            yield (
                f"{field}.plaintext: {path} is overridden after replicas were divided: the cluster gets another number "
                "than it was assigned, and with fewer a failover to it may not end; use weights of the placement"
            )


def _moves_apart(manifest: ReadOnlyManifest, key: tuple[str, str]) -> Iterator[str]:
    """Warns of a group whose members may be in several clusters each: then nothing keeps them together."""
    annotations = mapping_in(mapping_in(manifest, "metadata"), "annotations")
    if key not in _PROPAGATION or MOVES_WITH_ANNOTATION not in annotations:
        return
    try:
        placement = from_wire(_value_at(manifest, "spec.placement") or {}, Placement)
    except DecodeError:
        return
    if not keeps_in_one_cluster(placement):
        yield f"metadata.annotations[{MOVES_WITH_ANNOTATION}] {NOT_IN_ONE}"


def _mappings(manifest: ReadOnlyManifest, path: str) -> list[ReadOnlyManifest]:
    found = _value_at(manifest, path)
    items = cast(list[Any], found) if isinstance(found, list) else []
    return [cast(ReadOnlyManifest, item) for item in items if isinstance(item, dict)]


def _has_replicas(selector: ReadOnlyManifest) -> bool:
    return (str(selector.get("apiVersion")), str(selector.get("kind"))) in _WITH_REPLICAS


def _value_at(manifest: ReadOnlyManifest, path: str) -> object:
    """None where there is nothing, or another shape than that path has."""
    value: object = manifest
    for part in path.split("."):
        value = cast(ReadOnlyManifest, value).get(part) if isinstance(value, dict) else None
    return value


def _ordinals(manifest: ReadOnlyManifest, key: tuple[str, str]) -> Iterator[str]:
    """Warns of ordinals by cluster that have no effect, and of volumes that have other names for that."""
    value = mapping_in(mapping_in(manifest, "metadata"), "annotations").get(ORDINALS_ANNOTATION)
    if value is None:
        return
    said = f"metadata.annotations[{ORDINALS_ANNOTATION}]"
    if key != ("apps", "StatefulSet"):
        yield f"{said} has no effect: only a StatefulSet of apps/v1 has ordinals"
    elif value != BY_CLUSTER:
        yield f"{said} has no effect: write {BY_CLUSTER}"
    elif _value_at(manifest, "spec.volumeClaimTemplates"):
        yield (
            f"{said}: claims have other names in each cluster, so {VOLUMES_FOLLOW_ANNOTATION} has no effect; "
            "added later it changes nothing"
        )


_WARNINGS: Mapping[Concern, Callable[[ReadOnlyManifest, tuple[str, str]], Iterator[str]]] = {
    Concern.OLD_WORD: _old_words,
    Concern.UNSUPPORTED: _unsupported,
    Concern.GATED: _gated,
    Concern.NOT_ENFORCED: _not_enforced,
    Concern.ASSIGNED_TWICE: _assigned_twice,
    Concern.NOT_PRESERVED: _not_preserved,
    Concern.PARTED: _parted,
    Concern.OVERRIDDEN_REPLICAS: _overridden_replicas,
    Concern.ORDINALS: _ordinals,
    Concern.MOVES_APART: _moves_apart,
}
