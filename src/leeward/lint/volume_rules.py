"""Rules about where data and definitions are: what stays behind, what is deleted, what is missing elsewhere."""

from collections.abc import Iterator
from dataclasses import replace

from kubeapi.untrusted import mapping_in, text_in
from leeward.api.names import EVICT_SHARED_ANNOTATION, VOLUMES_FOLLOW_ANNOTATION
from leeward.api.ordinals import volumes_follow
from leeward.api.purge_mode import PurgeMode
from leeward.api.purge_mode import rules_of as purge_rules_of
from leeward.api.work import Binding
from leeward.core.admission_warnings import Concern
from leeward.core.eviction.due_evictions import purge_mode_of
from leeward.core.eviction.shared_resources import SHARED_KINDS, stays_under_taints
from leeward.core.eviction.volumes import has_claims, stay_behind, why_volumes_stay
from leeward.core.interpreter import dependencies_of
from leeward.lint.findings import Diagnostic
from leeward.lint.object_rules import warned_of
from leeward.lint.objects import ClaimedTemplate, LintObject
from leeward.lint.picture import LintPicture
from leeward.lint.placements import allowed_clusters, clusters_to_judge, may_move

_CLAIM_TEMPLATES = ("spec", "volumeClaimTemplates")
_VOLUMES = ("spec", "template", "spec", "volumes")


def claims_left_behind(picture: LintPicture) -> Iterator[Diagnostic]:
    for claim in picture.claimed:
        template, binding = claim.template, claim.binding
        if not may_move(claim.policy.policy.spec.placement, binding.spec.is_workload):
            continue
        if template.kind == "StatefulSet":
            if has_claims(binding) and (said := _of_stateful_set(picture, binding)):
                path = (
                    _CLAIM_TEMPLATES if mapping_in(template.manifest, "spec").get("volumeClaimTemplates") else _VOLUMES
                )
                yield Diagnostic(template, f"{template} {said}", path, others=(claim.policy.source,))
        elif (names := _named_claims(template)) and not volumes_follow(binding):
            said = (
                f"{template} moves if its cluster is lost, without what is in its claims ({', '.join(names)}): it "
                "starts empty"
            )
            mend = (
                "keep the data outside of the cluster, or in storage that is replicated, and annotate the policy with "
                f"{VOLUMES_FOLLOW_ANNOTATION}=true"
            )
            yield Diagnostic(template, said, _VOLUMES, mend, (claim.policy.source,))


def _of_stateful_set(picture: LintPicture, binding: Binding) -> str:
    """Words for why a StatefulSet stays; empty where its volumes follow."""
    default = PurgeMode.GRACEFULLY if picture.state is None else picture.state.settings.placement.purge_mode
    mode = purge_mode_of(binding.spec.failover, default)
    if stay_behind(binding, mode):
        return f"stays in its cluster if that is lost: {why_volumes_stay(binding)}"
    if not purge_rules_of(mode).keeps_copy and not volumes_follow(binding):
        return "moves if its cluster is lost, without its volumes (purgeMode Directly): it starts empty"
    return ""


def _named_claims(template: LintObject) -> list[str]:
    if not template.has_contents:
        return []
    return [each.name for each in dependencies_of(template.manifest) if each.kind == "PersistentVolumeClaim"]


def services_part_from_set(picture: LintPicture) -> Iterator[Diagnostic]:
    """Finds the concerns of admission warnings, but where all StatefulSets of the policy are seen to have no claims."""
    claims = {policy.source: found for policy, found in picture.claimed_by_policy.items()}
    for warning in warned_of(picture, {Concern.PARTED}):
        found = () if warning.about is None else claims.get(warning.about, ())
        sets = [each for each in found if each.template.kind == "StatefulSet"]
        if not sets or any(has_claims(each.binding) for each in sets):
            yield replace(warning, path=("spec", "resourceSelectors"))


def shared_resources_evicted(picture: LintPicture) -> Iterator[Diagnostic]:
    for claim in picture.claimed:
        template = claim.template
        is_shared = (template.group, template.kind) in SHARED_KINDS
        mode = purge_mode_of(claim.binding.spec.failover, PurgeMode.GRACEFULLY)
        moves = may_move(claim.policy.policy.spec.placement, has_replicas=False)
        if not is_shared or stays_under_taints(claim.binding) or not (moves or not purge_rules_of(mode).needs_place):
            continue
        said = f"{claim.policy} lets {template} be evicted from a cluster that is down: {_lost_with(template)}"
        yield Diagnostic(
            claim.policy.source, said, ("metadata", "annotations", EVICT_SHARED_ANNOTATION), others=(template,)
        )


def _lost_with(template: LintObject) -> str:
    """Words for what is deleted when that cluster is back."""
    match template.kind:
        case "CustomResourceDefinition":
            return "when that is back, all custom resources of the kind are deleted there"
        case "Namespace":
            return "when that is back, all that is in the namespace is deleted there"
        case _:
            return "when that is back, the data is deleted there"


def kinds_missing_elsewhere(picture: LintPicture) -> Iterator[Diagnostic]:
    """A definition is evicted by no taint: where it is not placed beforehand, no custom resource of it can go."""
    definitions = {kind: claim for claim in picture.claimed if (kind := _defined_kind(claim.template))}
    told: set[tuple[LintObject, LintObject]] = set()
    for claim in picture.claimed:
        found = definitions.get((claim.template.group, claim.template.kind))
        if found is None or (claim.policy.source, found.template) in told:
            continue
        missing = _clusters_without(picture, claim, found)
        if missing:
            told.add((claim.policy.source, found.template))
            said = (
                f"{claim.template} may go to {', '.join(missing)}, where {found.template} is not placed: a cluster "
                "without the kind is no place for it"
            )
            mend = f"let {found.policy} place the definition in all clusters that its objects may go to"
            others = (claim.policy.source, found.template, found.policy.source)
            yield Diagnostic(claim.template, said, (), mend, others)


def _clusters_without(picture: LintPicture, claim: ClaimedTemplate, definition: ClaimedTemplate) -> list[str]:
    wanted, given = claim.policy.policy.spec.placement, definition.policy.policy.spec.placement
    there, here = clusters_to_judge(given, picture.fleet), clusters_to_judge(wanted, picture.fleet)
    if there is None or here is None:
        return []
    allowed = allowed_clusters(wanted, here)
    if may_move(given, has_replicas=False):
        placed = {target.name for target in definition.binding.spec.clusters}
        return sorted(allowed - placed) if placed else []
    return sorted(allowed - allowed_clusters(given, there))


def _defined_kind(template: LintObject) -> tuple[str, str] | None:
    if template.kind != "CustomResourceDefinition" or not template.has_contents:
        return None
    spec = mapping_in(template.manifest, "spec")
    return text_in(spec, "group"), text_in(mapping_in(spec, "names"), "kind")
