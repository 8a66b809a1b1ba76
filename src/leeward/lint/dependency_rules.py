"""Rules about what a replacement needs beside it: its configuration, its autoscaler, and a judge of its health."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import ReadOnlyManifest, labels_of
from kubeapi.unstructured import text_at
from leeward.api.interpreter_config import (
    DependentObjectReference,
    ResourceInterpreterCustomization,
    ResourceInterpreterWebhookConfiguration,
)
from leeward.api.names import POLICY_ID_LABEL
from leeward.core.dependencies.requirements import names_own_of_each_cluster
from leeward.core.execution.addresses import selector_of_service, selects
from leeward.core.execution.reachability import may_need_service
from leeward.core.interpreter import dependencies_of, lacks_health_rule, why_not_judged
from leeward.core.interpreter.scripts import Operation, scripts_for
from leeward.core.interpreter.webhook_exchange import hook_for
from leeward.core.propagation.autoscaled import scale_target_patch
from leeward.core.propagation.matching import NO_MATCH, selector_priority
from leeward.lint.findings import Diagnostic
from leeward.lint.objects import ClaimedTemplate, LintObject
from leeward.lint.picture import LintPicture
from leeward.lint.placements import allowed_clusters, clusters_to_judge, may_move

CONFIGURATION = ("ConfigMap", "Secret", "ServiceAccount")
_POD_LABELS = ("spec", "template", "metadata", "labels")
_REPLICAS_LABEL = ("metadata", "labels")


def dependencies_left_behind(picture: LintPicture) -> Iterator[Diagnostic]:
    for claim in picture.claimed:
        template = claim.template
        if not template.has_contents or claim.binding.spec.propagate_deps:
            continue
        for needed in dependencies_of(_without_optional(template.manifest)):
            if needed.name and not names_own_of_each_cluster(needed) and (said := _why_left(picture, claim, needed)):
                name = f"{needed.kind} {needed.namespace}/{needed.name}"
                yield Diagnostic(
                    template,
                    f"{template} needs {name}, {said}",
                    ("spec",),
                    f"set propagateDeps: true in {claim.policy}, or let a policy select the {needed.kind}",
                    (claim.policy.source,),
                )


def _why_left(picture: LintPicture, claim: ClaimedTemplate, needed: DependentObjectReference) -> str:
    """Words for why a dependency is left behind; empty where it is taken along, or where that cannot be known."""
    identity = (needed.api_version.rpartition("/")[0], needed.kind, needed.namespace, needed.name)
    found = picture.claim_of.get(identity)
    if found is not None:
        missing = _clusters_without(picture, claim, found)
        return f"which {found.policy} does not take to {', '.join(missing)}" if missing else ""
    if any(each.identity == identity for each in picture.templates):
        return "which no policy takes along: a replacement elsewhere would be without it"
    is_configuration = needed.kind in CONFIGURATION and claim.template.kind != "Ingress"
    if picture.is_whole or not is_configuration or _may_be_selected(picture, needed):
        return ""
    return "which no policy here takes along: a replacement elsewhere would be without it"


def _clusters_without(picture: LintPicture, claim: ClaimedTemplate, needed: ClaimedTemplate) -> list[str]:
    """Clusters that the template may go to and what it needs may not."""
    placements = [each.policy.policy.spec.placement for each in (claim, needed)]
    wanted, given = (clusters_to_judge(placement, picture.fleet) for placement in placements)
    if wanted is None or given is None:
        return []
    return sorted(allowed_clusters(placements[0], wanted) - allowed_clusters(placements[1], given))


def services_left_behind(picture: LintPicture) -> Iterator[Diagnostic]:
    """Finds workloads that may go to clusters where no Service selects them that selects them elsewhere."""
    services = [each for each in picture.claimed if each.template.kind == "Service" and each.template.has_contents]
    for claim in picture.claimed if services else ():
        made = claim.template.manifest
        found = [
            each
            for each in services
            if each.template.namespace == claim.template.namespace
            and selects(selector_of_service(each.template.manifest), made)
        ]
        without = [set(_clusters_without(picture, claim, each)) for each in found]
        left = sorted(without[0].intersection(*without[1:])) if without else []
        if left and may_need_service(claim.binding):
            named = ", ".join(str(each.template) for each in found)
            where = f"{claim.template} may be placed in {', '.join(left)}"
            said = f"{where}. {named}, which selects its Pods, is not allowed there by its policy"
            others = tuple(each.policy.source for each in found)
            yield Diagnostic(claim.template, said, _POD_LABELS, others=(claim.policy.source, *others))


def _may_be_selected(picture: LintPicture, needed: DependentObjectReference) -> bool:
    """Tells whether a policy selects the object by its name or kind, or might by labels, which nobody knows here."""
    metadata = {"name": needed.name, "namespace": needed.namespace}
    manifest = {"apiVersion": needed.api_version, "kind": needed.kind, "metadata": metadata}
    unknown = LintObject(manifest)
    for policy in picture.policies_of(unknown):
        spec = policy.policy.spec
        by_label = any(each.label_selector and each.kind == needed.kind for each in spec.resource_selectors)
        if by_label or selector_priority(manifest, spec, policy.policy.namespace) > NO_MATCH:
            return True
    return False


def _without_optional(value: Any) -> Any:
    """A manifest without references that it says it can do without."""
    if isinstance(value, Mapping):
        members = cast(Mapping[str, Any], value).items()
        return {key: _without_optional(member) for key, member in members if not _is_optional(member)}
    if isinstance(value, list):
        return [_without_optional(member) for member in cast(list[Any], value)]
    return value


def _is_optional(value: object) -> bool:
    return isinstance(value, Mapping) and cast(Mapping[str, Any], value).get("optional") is True


def autoscalers_overruled(picture: LintPicture) -> Iterator[Diagnostic]:
    for claim in picture.claimed:
        autoscaler = claim.template
        if autoscaler.kind != "HorizontalPodAutoscaler" or not autoscaler.has_contents:
            continue
        target = _target_of(picture, autoscaler)
        labels = {**labels_of(autoscaler.manifest), POLICY_ID_LABEL: "claimed"}
        marked: ReadOnlyManifest = {
            **autoscaler.manifest,
            "metadata": {**autoscaler.manifest["metadata"], "labels": labels},
        }
        if target is not None and scale_target_patch(target.template.manifest, [marked]):
            said = (
                f"{target.template} is scaled by {autoscaler} in its clusters, and is set back to the replicas of its "
                "template each time that its Work is applied, as in a failover"
            )
            others = (autoscaler, claim.policy.source, target.policy.source)
            yield Diagnostic(target.template, said, _REPLICAS_LABEL, others=others)


def _target_of(picture: LintPicture, autoscaler: LintObject) -> ClaimedTemplate | None:
    at = "spec", "scaleTargetRef"
    group = text_at(autoscaler.manifest, *at, "apiVersion").rpartition("/")[0]
    kind, name = text_at(autoscaler.manifest, *at, "kind"), text_at(autoscaler.manifest, *at, "name")
    return picture.claim_of.get((group, kind, autoscaler.namespace, name))


def not_judged(picture: LintPicture) -> Iterator[Diagnostic]:
    """Notes once for each kind, as the event `HealthNotInterpreted`."""
    customizations = list(_typed(picture, ResourceInterpreterCustomization))
    configurations = list(_typed(picture, ResourceInterpreterWebhookConfiguration))
    told: set[tuple[str, str]] = set()
    for claim in picture.claimed:
        template = claim.template
        kind = template.api_version, template.kind
        moves = may_move(claim.policy.policy.spec.placement, claim.binding.spec.is_workload)
        if kind in told or not moves or not lacks_health_rule(template.manifest):
            continue
        if scripts_for(customizations, *kind, Operation.HEALTH) or hook_for(configurations, *kind, Operation.HEALTH):
            continue
        told.add(kind)
        yield Diagnostic(template, why_not_judged(template.kind), ("kind",), others=(claim.policy.source,))


def _typed(picture: LintPicture, object_type: Any) -> Iterator[Any]:
    for each in picture.objects:
        if (each.group, each.kind) == ("config.karmada.io", object_type.__name__):
            try:
                yield from_wire(each.manifest, object_type)
            except DecodeError:
                continue
