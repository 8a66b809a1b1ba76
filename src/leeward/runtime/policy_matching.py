"""Matching of policies and templates, for the detector: the policy that wins a template, the templates of a policy.

It keeps an index of all policies. A change of a policy is taken in at once; the templates that it selected before, or
selects now, are looked for in a queue of its own, a turn at a time, so that a policy of many selectors beside many
templates holds nobody up. Holds: L4.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from controller_runtime import key_of
from kubeapi.meta import Manifest, ReadOnlyManifest, labels_of
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.resource import CLUSTER_PROPAGATION_POLICIES, PROPAGATION_POLICIES
from leeward.core.propagation.matching import NO_MATCH
from leeward.core.propagation.selecting import Scope, Selected, precision_in
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.policy_changes import EarlierSelections, PolicyKey
from leeward.runtime.policy_index import PolicyIndexes
from leeward.runtime.templates import TemplateKey, Templates


class PolicyMatching:
    """`concerns` is told of each template that may have another policy now. `preemption` is the gate
    PropagationPolicyPreemption."""

    def __init__(
        self,
        plane: ControlPlane,
        templates: Templates,
        concerns: Callable[[TemplateKey], None],
        *,
        preemption: bool = False,
    ) -> None:
        self._plane = plane
        self._templates = templates
        self._concerns = concerns
        self._policies = plane.informers.of(PROPAGATION_POLICIES)
        self._cluster_policies = plane.informers.of(CLUSTER_PROPAGATION_POLICIES)
        self._known = PolicyIndexes(preemption=preemption)
        self._earlier = EarlierSelections()
        self._controller = plane.controller("policy-matching", self.reconcile, workers=1)

    def start(self) -> None:
        self._policies.on_change(self._changed(clustered=False))
        self._cluster_policies.on_change(self._changed(clustered=True))
        self._controller.start(self._plane.supervisor)

    async def wait_current(self) -> None:
        """Raises: Unreachable."""
        await self._policies.wait_current()
        await self._cluster_policies.wait_current()

    async def find(self, template: ReadOnlyManifest, claimant: str = "") -> AnyPropagationPolicy | None:
        """The policy with the permanent id `claimant` while it selects the template, or one that preempts it.

        Where there is neither, the one that wins the template.
        """
        return await self._plane.turns.finish(self._known.search(template, claimant))

    def selected_by(self, policy: AnyPropagationPolicy) -> Selected:
        return self._known.selected(key_of(policy), clustered=not policy.namespace)

    def claiming(self, template: ReadOnlyManifest, claimant: str) -> AnyPropagationPolicy | None:
        """The policy with the permanent id `claimant`, while it selects the template."""
        return self._known.claiming(template, claimant)

    def never_read(self, template: ReadOnlyManifest, claimant: str) -> str:
        """The policy with the permanent id `claimant`, where it is there and nothing is known of it; else empty."""
        namespace = key_of(template).namespace
        if not claimant or self.claiming(template, claimant) is not None:
            return ""
        for policies, label in ((self._policies, POLICY_ID_LABEL), (self._cluster_policies, CLUSTER_POLICY_ID_LABEL)):
            for key, stored in policies.unreadable.items():
                is_known = policies.get(key.name, key.namespace) is not None
                if not is_known and key.namespace in ("", namespace) and labels_of(stored).get(label) == claimant:
                    return f"{policies.resource.kind} {key}"
        return ""

    async def reconcile(self, key: PolicyKey) -> datetime | None:
        """Tells of the templates that a policy has selected, or selects."""
        selections = [*self._earlier.take(key), self._known.selected(key.key, clustered=key.clustered)]
        for scope in dict.fromkeys(scope for selected in selections for scope in selected):
            await self._plane.turns.take()
            for template in self._candidates(scope, selections):
                await self._plane.turns.take()
                if any(precision_in(selected, template) > NO_MATCH for selected in selections):
                    self._concerns(TemplateKey(scope.api_version, scope.kind, key_of(template)))
        return None

    def _candidates(self, scope: Scope, selections: list[Selected]) -> Iterator[Manifest]:
        """The templates of a scope, or only those that have the names where nothing else is asked for."""
        templates = self._templates.of(scope.api_version, scope.kind)
        if templates is None:
            return
        parts = [part for selected in selections if (part := selected.get(scope)) is not None]
        if not scope.namespace or any(part.all or part.labels for part in parts):
            yield from templates.list(scope.namespace or None)
            return
        for name in dict.fromkeys(name for part in parts for name in part.names):
            if (template := templates.get(name, scope.namespace)) is not None:
                yield template

    def _changed(self, *, clustered: bool) -> Callable[[Any, Any], None]:
        def changed(old: AnyPropagationPolicy | None, new: AnyPropagationPolicy | None) -> None:
            policy = new or old
            if policy is None:
                return
            key = PolicyKey(clustered, key_of(policy))
            before = self._known.drop(policy) if new is None else self._known.put(new)
            self._earlier.note(key, before)
            self._controller.queue.add(key)

        return changed
