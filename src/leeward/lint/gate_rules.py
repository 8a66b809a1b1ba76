"""Rules about gates: those that can never open, that nobody can look at, or that hold nothing."""

from collections.abc import Iterator, Sequence

from kubeapi.meta import annotations_of
from leeward.api.cluster import Cluster
from leeward.api.failback import OptionFault
from leeward.api.gates import GATE_ANNOTATIONS, ReplacementGate, parse_gates
from leeward.api.names import KEEP_UNTIL_ANNOTATION
from leeward.api.ordinals import volumes_follow
from leeward.api.purge_mode import PurgeMode
from leeward.api.purge_mode import rules_of as purge_rules_of
from leeward.core.eviction.due_evictions import purge_mode_of
from leeward.core.execution.gates import described, gate_values
from leeward.core.scheduling.filters import is_enabled
from leeward.lint.findings import Diagnostic
from leeward.lint.objects import ClaimedTemplate, LintObject
from leeward.lint.picture import LintPicture
from leeward.lint.placements import allowed_clusters, may_move


def gates_in_vain(picture: LintPicture) -> Iterator[Diagnostic]:
    """Finds each fault of a gate once, whatever number of templates has it."""
    found = dict[tuple[LintObject, str], Diagnostic]()
    for claim in picture.claimed:
        for annotation in GATE_ANNOTATIONS:
            if annotation not in claim.binding.metadata.annotations:
                continue
            is_own = annotation in annotations_of(claim.template.manifest)
            source = claim.template if is_own else claim.policy.source
            for said, mend in _faults(picture, claim, annotation, is_own=is_own):
                path = ("metadata", "annotations", annotation)
                found.setdefault((source, said), Diagnostic(source, f"{source} {said}", path, mend))
    yield from found.values()


def _faults(
    picture: LintPicture, claim: ClaimedTemplate, annotation: str, *, is_own: bool
) -> Iterator[tuple[str, str]]:
    """Faults of one annotation, each with its mend."""
    try:
        gates = parse_gates(annotation, claim.binding.metadata.annotations)
    except OptionFault as error:
        yield f"has a gate that cannot be read, so that replacements never start: {error}", ""
        return
    if not may_move(claim.policy.policy.spec.placement, claim.binding.spec.is_workload):
        yield f"has {annotation}, and nothing replaces a copy: it goes to all clusters that are allowed", ""
    if annotation == KEEP_UNTIL_ANNOTATION and _goes_first(picture, claim):
        yield (
            f"has {annotation}, which keeps nothing: the old copy is gone before the new one is made",
            "take it away, or change purgeMode Directly and leeward.dev/volumes-follow",
        )
    is_of_administrator = not is_own and not claim.policy.policy.namespace
    for gate in gates:
        named = gate.in_cluster(gate_values(claim.binding, "CLUSTER"))
        if gate.webhook and not is_of_administrator:
            yield "has a gate that names a webhook: it never opens", "name it in a ClusterPropagationPolicy"
        elif not gate.webhook and named.namespace != claim.binding.namespace and not is_of_administrator:
            yield (
                f"has a gate on {described(named)}, in another namespace: it never opens",
                "name it in a ClusterPropagationPolicy",
            )
        elif gate.is_in_target and picture.fleet is not None:
            yield from _unseen(picture, claim, named)


def _unseen(picture: LintPicture, claim: ClaimedTemplate, gate: ReplacementGate) -> Iterator[tuple[str, str]]:
    """Faults of a gate on an object in the target, by the clusters that the placement allows."""
    fleet = picture.fleet or {}
    allowed = sorted(allowed_clusters(claim.policy.policy.spec.placement, fleet))
    without = [name for name in allowed if _lacks(fleet[name], gate)]
    if without:
        yield (
            f"has a gate on {gate.kind}, a kind that {', '.join(without)} does not offer: it never opens there",
            f"install the definition of {gate.kind} there",
        )
    pull = [name for name in allowed if fleet[name].spec.sync_mode == "Pull" and name not in without]
    if pull and not _is_propagated(picture.templates, gate):
        yield (
            f"has a gate on {described(gate)}, which only agents see in {', '.join(pull)}: it never opens there",
            "have that object propagated, or let a webhook answer",
        )


def _lacks(cluster: Cluster, gate: ReplacementGate) -> bool:
    return bool(cluster.status.api_enablements) and not is_enabled(cluster, gate.api_version, gate.kind)


def _is_propagated(templates: Sequence[LintObject], gate: ReplacementGate) -> bool:
    wanted = (gate.kind, gate.namespace, gate.name)
    return any((each.kind, each.namespace, each.name) == wanted for each in templates)


def _goes_first(picture: LintPicture, claim: ClaimedTemplate) -> bool:
    """Tells whether the old copy is purged before the new one is made."""
    default = PurgeMode.GRACEFULLY if picture.state is None else picture.state.settings.placement.purge_mode
    mode = purge_mode_of(claim.binding.spec.failover, default)
    return not purge_rules_of(mode).keeps_copy or volumes_follow(claim.binding)
