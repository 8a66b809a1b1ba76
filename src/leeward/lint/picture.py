"""LintPicture: what rules look at. Policies and templates, who claims what, and the fleet, where one is known.

A template is claimed by the policy that the detector would have it claimed by, and its binding is the one that the
detector would make; where only the metadata of the template is known, it is the one that is there.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property

import msgspec

from kubeapi.codec import DecodeError, copy_manifest, from_wire, to_wire
from kubeapi.meta import Manifest
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.cluster import Cluster
from leeward.api.defaulting import DefaultingSettings, apply_defaults
from leeward.api.names import binding_name
from leeward.api.policy import AnyPropagationPolicy, ClusterPropagationPolicy, PropagationPolicy
from leeward.api.validation import validate, validate_types
from leeward.api.work import Binding, ClusterResourceBinding, ResourceBinding
from leeward.core.eviction.volumes import claims_annotation
from leeward.core.propagation.binding import build_binding
from leeward.core.propagation.claiming import claimed_by
from leeward.core.propagation.matching import keep_or_find_policy
from leeward.core.propagation.reach import Reach, stays_here
from leeward.core.propagation.selecting import Scope, scopes_of, select
from leeward.lint.objects import EPOCH, ClaimedTemplate, LintObject, LintPolicy

_REACH = Reach()
POLICY_API_VERSION = "policy.karmada.io/v1alpha1"


class LintInput(Enum):
    """Input that a rule may need beyond policies and the names of templates."""

    CONTENTS = "the contents of manifests"
    OVERRIDES = "override policies and quotas"
    FLEET = "a control plane, or a picture of one"


class LintPicture:
    """`is_whole`: what is not here is nowhere, as of a control plane; other files may hold what these do not.

    `contents`: manifests are here, and not only what a snapshot keeps of them.
    """

    def __init__(
        self, objects: Iterable[LintObject], state: FleetState | None = None, *, is_whole: bool, contents: bool = True
    ) -> None:
        latest, self.repeated = dict[tuple[str, str, str, str], LintObject](), list[tuple[LintObject, LintObject]]()
        """Objects of files that are there again, and what counts in their place."""
        for each in objects:
            before = latest.get(each.identity)
            if before is not None and before.document is not None:
                self.repeated.append((before, each))
            latest[each.identity] = each
        self.objects: Sequence[LintObject] = tuple(latest.values())
        self.state = state
        self.is_whole = is_whole
        self._owners: dict[LintObject, LintPolicy | None] = {}
        self.inputs = frozenset(
            [
                *((LintInput.CONTENTS, LintInput.OVERRIDES) if contents else ()),
                *(() if state is None else (LintInput.FLEET,)),
            ]
        )

    @cached_property
    def fleet(self) -> Mapping[str, Cluster] | None:
        """None where nobody knows which clusters there are."""
        return None if self.state is None else self.state.clusters

    @cached_property
    def templates(self) -> Sequence[LintObject]:
        return [each for each in self.objects if each.is_template and each.name]

    @cached_property
    def policies(self) -> Sequence[LintPolicy]:
        """Policies that the API server would take."""
        found = ((each, _policy_in(each)) for each in self.objects if each.is_policy and each.name)
        return [LintPolicy(each, policy) for each, policy in found if policy is not None]

    @cached_property
    def templates_by_kind(self) -> Mapping[str, Sequence[LintObject]]:
        found: dict[str, list[LintObject]] = {}
        for each in self.templates:
            found.setdefault(each.kind, []).append(each)
        return found

    @cached_property
    def templates_by_name(self) -> Mapping[tuple[str, str], Sequence[LintObject]]:
        """Templates by kind and name."""
        found: dict[tuple[str, str], list[LintObject]] = {}
        for each in self.templates:
            found.setdefault((each.kind, each.name), []).append(each)
        return found

    def policies_of(self, template: LintObject) -> list[LintPolicy]:
        """Policies that may select the template, by its kind and namespace."""
        found = (self._by_scope.get(scope, ()) for scope in scopes_of(template.manifest))
        near = {id(policy): policy for policies in found for policy in policies}.values()
        return [each for each in near if each.policy.namespace in ("", template.namespace)]

    def policy_of(self, template: LintObject) -> LintPolicy | None:
        """Policy that claims the template."""
        if template not in self._owners:
            self._owners[template] = self._find_policy(template)
        return self._owners[template]

    def _find_policy(self, template: LintObject) -> LintPolicy | None:
        """Policy that claims the template. What is never propagated, as in namespaces of the control plane's own, is
        claimed by none."""
        if _is_skipped(template):
            return None
        near = self.policies_of(template)
        local = [each.policy for each in near if isinstance(each.policy, PropagationPolicy)]
        wide = [each.policy for each in near if isinstance(each.policy, ClusterPropagationPolicy)]
        found = keep_or_find_policy(template.manifest, claimed_by(template.manifest), local, wide)
        return next((each for each in near if each.policy is found), None)

    @cached_property
    def claimed(self) -> Sequence[ClaimedTemplate]:
        """Templates that are propagated. Those of which no binding can be made are left out: LW001 tells of them."""
        claims: list[ClaimedTemplate] = []
        for template in self.templates:
            policy = self.policy_of(template)
            binding = None if policy is None else self._binding(template, policy)
            if policy is not None and binding is not None:
                claims.append(ClaimedTemplate(template, policy, binding))
        return claims

    @cached_property
    def claimed_by_policy(self) -> Mapping[LintPolicy, Sequence[ClaimedTemplate]]:
        found: dict[LintPolicy, list[ClaimedTemplate]] = {policy: [] for policy in self.policies}
        for claim in self.claimed:
            found[claim.policy].append(claim)
        return found

    @cached_property
    def claim_of(self) -> Mapping[tuple[str, str, str, str], ClaimedTemplate]:
        """Claims by the template's identity."""
        return {claim.template.identity: claim for claim in self.claimed}

    @cached_property
    def _by_scope(self) -> Mapping[Scope, Sequence[LintPolicy]]:
        found: dict[Scope, list[LintPolicy]] = {}
        for policy in self.policies:
            for scope in select(policy.policy):
                found.setdefault(scope, []).append(policy)
        return found

    def _binding(self, template: LintObject, policy: LintPolicy) -> Binding | None:
        present = self._present_binding(template)
        if not template.has_contents:
            return present
        try:
            made = bound(template, policy.policy)
        except (ValueError, DecodeError):
            return None
        if present is None:
            return made
        spec = msgspec.structs.replace(
            made.spec, clusters=present.spec.clusters, graceful_eviction_tasks=present.spec.graceful_eviction_tasks
        )
        return msgspec.structs.replace(present, spec=spec)

    def _present_binding(self, template: LintObject) -> Binding | None:
        if self.state is None:
            return None
        return self.state.bindings.get(BindingName(template.namespace, binding_name(template.kind, template.name)))


def _is_skipped(template: LintObject) -> bool:
    """Tells whether it is skipped as the flags of controllers say by default."""
    if template.namespace and _REACH.skips_namespace(template.namespace):
        return True
    return stays_here(template.api_version, template.kind, template.name, _REACH)


def bound(template: LintObject, policy: AnyPropagationPolicy) -> Binding:
    """The binding that the detector would make. Raises: ValueError, DecodeError."""
    manifest = build_binding(template.manifest, policy)
    manifest["metadata"]["annotations"].update(claims_annotation(template.manifest))
    kind = ResourceBinding if template.namespace else ClusterResourceBinding
    found: Binding = from_wire(manifest, kind)
    return found


def as_stored(each: LintObject) -> Manifest:
    """Manifest with what admission fills in. What a control plane has stored is as it is."""
    if each.document is None:
        return each.manifest
    settings = DefaultingSettings(now=EPOCH, new_uid=lambda: f"lint-{'-'.join(filter(None, each.identity))}")
    return apply_defaults(each.manifest, settings)


def objects_of(state: FleetState) -> list[LintObject]:
    """Policies and templates of a picture of a fleet; of templates their metadata."""
    policies = [_policy_object(each, "PropagationPolicy") for each in state.recorded.policies]
    policies += [_policy_object(each, "ClusterPropagationPolicy") for each in state.recorded.cluster_policies]
    manifests = [template.as_manifest() for template in state.recorded.templates]
    return [*(LintObject(each) for each in policies), *(LintObject(each, has_contents=False) for each in manifests)]


def _policy_object(policy: AnyPropagationPolicy, kind: str) -> Manifest:
    return {**to_wire(policy), "apiVersion": POLICY_API_VERSION, "kind": kind}


def _policy_in(each: LintObject) -> AnyPropagationPolicy | None:
    """None for one that the API server would refuse; what a control plane has stored was taken."""
    stored = as_stored(each)
    if each.document is not None and (validate_types(copy_manifest(stored)) or validate(copy_manifest(stored))):
        return None
    kind = PropagationPolicy if each.kind == "PropagationPolicy" else ClusterPropagationPolicy
    try:
        found: AnyPropagationPolicy = from_wire(stored, kind)
    except DecodeError:
        return None
    return found
