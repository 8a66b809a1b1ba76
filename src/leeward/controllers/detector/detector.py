"""The detector: finds the policy that wins for each resource template, claims the template, and keeps its binding.

Policies are found by an index, and a policy that changes has only those templates looked at again that it selected or
selects (`runtime.policy_matching`).

A template that no policy selects any more keeps its binding, so that deleting a policy never deletes an application;
it is only released for another policy to claim. A policy that names override policies takes effect once they are
there; until then all stays as it is. A binding that is on its way out, or was made for an earlier template of the same
name, is let go first, and made anew when it is gone. What a policy has claimed that is there and has never been read
stays, too, whichever other one would select it (Holds: S5).

Karmada: pkg/detector; same for the parts named here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from controller_runtime import Informer, Key, key_of, reference_of
from kubeapi.codec import to_wire
from kubeapi.diff import merged
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Conflict, WorldError
from leeward.api.names import TEMPLATE_DIGEST_ANNOTATION, binding_name
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, PRIORITY_CLASSES, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.controllers.detector.autoscaler_events import AutoscalerEvents
from leeward.controllers.detector.detected_bindings import DetectedBindings, concerns_its_template
from leeward.controllers.detector.detected_templates import DetectedTemplates
from leeward.controllers.detector.feature_holds import FeatureHolds
from leeward.controllers.detector.template_events import TemplateEvents, described, lowered, name_of_policy
from leeward.core.dependencies.held_claims import claim_annotations
from leeward.core.interpreter.scripts import Operation
from leeward.core.placement.concern import is_propagated
from leeward.core.propagation.activation import decide_activation
from leeward.core.propagation.binding import build_binding, claim, named_priority_class
from leeward.core.propagation.claiming import belongs_to, binding_patch, claim_patch, claimed_by, standing_claim
from leeward.core.propagation.digest import digest_annotations
from leeward.core.propagation.held_features import HeldFeature
from leeward.core.propagation.reach import Reach, binding_problems, stays_here
from leeward.runtime.contradictions import StandingReplicas
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.dependent_overrides import DependentOverrides
from leeward.runtime.policy_matching import PolicyMatching
from leeward.runtime.templates import TemplateKey, Templates, read_current
from leeward.runtime.webhook_queue import NotAnsweredYet

UNREAD_AGAIN = timedelta(seconds=30)
"""Pause after which a template is looked at again whose policy could not be read: of its deletion nothing is told."""


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """Gates: `workload_affinity` is WorkloadAffinity, `priorities` PriorityBasedScheduling, `preemption`
    PropagationPolicyPreemption, `multiple_pod_templates` MultiplePodTemplatesScheduling, `quota_estimate`
    ResourceQuotaEstimate, `propagates_deps` PropagateDeps. `marks_scale_targets`: the controller hpaScaleTargetMarker
    runs."""

    workload_affinity: bool = False
    priorities: bool = True
    preemption: bool = False
    multiple_pod_templates: bool = False
    quota_estimate: bool = False
    reach: Reach = field(default_factory=Reach)
    marks_scale_targets: bool = False
    propagates_deps: bool = True

    @property
    def switched(self) -> Mapping[HeldFeature, bool]:
        """The gates of what bindings keep."""
        return {
            HeldFeature.COMPONENTS: self.multiple_pod_templates,
            HeldFeature.GROUPS: self.workload_affinity,
            HeldFeature.DEPENDENCIES: self.propagates_deps,
        }


class Detector:
    def __init__(self, plane: ControlPlane, templates: Templates, settings: DetectorSettings) -> None:
        self._plane = plane
        self._settings = settings
        self._templates = templates
        self._recorder = plane.recorder("resource-detector")
        self._bindings: dict[bool, tuple[Resource[Any], Informer[Any]]] = {
            resource.namespaced: (resource, plane.informers.of(resource))
            for resource in (RESOURCE_BINDINGS, CLUSTER_RESOURCE_BINDINGS)
        }
        self._controller = plane.controller("resource-detector", self.reconcile, owns=self._owns)
        self._written = DetectedBindings(plane, self._look_at)
        self._done = DetectedTemplates(plane)
        self._matching = PolicyMatching(plane, templates, self._controller.queue.add, preemption=settings.preemption)
        self._told = TemplateEvents(plane, self._recorder, self._matching, settings.reach)
        self._autoscalers = AutoscalerEvents(plane, self._recorder, templates, enabled=not settings.marks_scale_targets)
        self._standing = StandingReplicas(plane)
        self._features = FeatureHolds(plane, settings.switched)
        self._dependent_overrides = DependentOverrides[TemplateKey](plane, self._controller.queue.add)

    def start(self) -> None:
        self._templates.on_change(self._template_changed)
        self._matching.start()
        self._dependent_overrides.start()
        asked = (Operation.REPLICA, Operation.COMPONENT)
        self._plane.interpreter_changes.of_keys(asked, self._templates.all_keys, self._controller.queue.add)
        for _, bindings in self._bindings.values():
            bindings.on_change(self._binding_changed)
        self._controller.start(self._plane.supervisor)

    def _owns(self, key: TemplateKey) -> bool:
        """Tells whether the template's binding is kept here."""
        return self._plane.share.owns_binding(Key(key.key.namespace, binding_name(key.kind, key.key.name)))

    async def reconcile(self, key: TemplateKey) -> datetime | None:
        try:
            return await self._reconcile(key)
        except BaseException:
            self._done.forget(key)
            raise

    async def _reconcile(self, key: TemplateKey) -> datetime | None:
        await self._matching.wait_current()
        resource, templates = await self._templates.follow(key.api_version, key.kind)
        self._done.forget(key)
        template = await read_current(self._plane.server, resource, key.key)
        if template is None or "deletionTimestamp" in template["metadata"]:
            self._told.forget(key)
            self._autoscalers.forget(key)
            self._dependent_overrides.forget(key)
            binding = await self._binding_of(template) if template is not None else None
            if template is None or binding is None:
                return None
            return self._told.terminating(resource, template, binding, self._plane.clock.now())
        if self._is_skipped(key):
            await self._told.skipped(key, resource, template)
            return None
        claimed = standing_claim(template, await self._binding_of(template))
        if unread := self._matching.never_read(template, claimed):
            message = f"it stays as it is: {unread}, which has claimed it, cannot be read"
            self._recorder.warning(resource, template, "ApplyPolicyFailed", message)
            return self._plane.clock.now() + UNREAD_AGAIN
        started = self._plane.clock.monotonic()
        policy = await self._matching.find(template, claimed)
        self._plane.metrics.propagation.matched_policy(self._plane.clock.monotonic() - started)
        if policy is not None and (missing := await self._dependent_overrides.missing(policy, key)):
            message = f"Policy {name_of_policy(policy)} waits: the override policy {missing} does not exist"
            self._recorder.warning(resource, template, "ApplyPolicyFailed", message)
            return None
        claimant = self._matching.claiming(template, claimed)
        if policy is None or claimant is None or claimant is policy:
            await self._apply(policy, resource, templates, template)
        else:
            await self._preempt(policy, claimant, resource, templates, template)
        return self._autoscalers.look(resource, template) if policy is not None else None

    async def _preempt(
        self,
        policy: AnyPropagationPolicy,
        claimant: AnyPropagationPolicy,
        resource: Resource[Manifest],
        templates: Informer[Manifest],
        template: Manifest,
    ) -> None:
        """The policy takes over what another has claimed, and says so."""
        taker, other = described(policy), described(claimant)
        failed = True
        try:
            await self._apply(policy, resource, templates, template)
            failed = False
        except Conflict:
            raise
        except WorldError as error:
            message = f"{taker} failed to preempt {lowered(other)}: {error}"
            self._recorder.warning(resource, template, "PreemptPolicyFailed", message)
            raise
        finally:
            self._plane.metrics.propagation.preempted_policy(failed=failed)
        message = f"{taker} preempted {lowered(other)} successfully"
        self._recorder.normal(resource, template, "PreemptPolicySucceed", message)

    async def _apply(
        self,
        policy: AnyPropagationPolicy | None,
        resource: Resource[Manifest],
        templates: Informer[Manifest],
        template: Manifest,
    ) -> None:
        """Claims the template for the policy, and keeps its binding; without one it is released."""
        started, failed = self._plane.clock.monotonic(), True
        try:
            await self._carry_out(policy, resource, templates, template)
            failed = False
        except (Conflict, NotAnsweredYet):
            raise
        except WorldError as error:
            if policy is not None:
                message = f"Apply policy({name_of_policy(policy)}) failed: {error}"
                self._recorder.warning(resource, template, "ApplyPolicyFailed", message)
            raise
        finally:
            if policy is not None:
                seconds = self._plane.clock.monotonic() - started
                self._plane.metrics.propagation.applied_policy(seconds, failed=failed)

    async def _carry_out(
        self,
        policy: AnyPropagationPolicy | None,
        resource: Resource[Manifest],
        templates: Informer[Manifest],
        template: Manifest,
    ) -> None:
        """The claim first, then the binding; then what a lazy policy remembers of the template. A release ends with the
        template: its policy may go then."""
        if policy is None:
            if (binding := await self._binding_of(template)) is not None:
                await self._written.release(*self._bindings[bool(binding.namespace)], binding)
            await self._mark(resource, templates, template, claim_patch(template, {}, {}))
            return
        labels, annotations = claim(policy)
        activation = decide_activation(template, policy, await self._binding_of(template))
        if activation.waits:
            waiting = claim_patch(template, labels, {**annotations, **activation.after})
            await self._mark(resource, templates, template, waiting)
            return
        before = claim_patch(template, labels, {**annotations, **activation.before})
        template = await self._mark(resource, templates, template, before)
        await self._ensure_binding(resource, template, policy, activation.after)
        after = claim_patch(template, labels, {**annotations, **activation.after})
        template = await self._mark(resource, templates, template, after)
        await self._done.note(_key_of(template), template)

    async def _binding_of(self, template: Manifest) -> Binding | None:
        """Binding that was made for this very template."""
        _, bindings = self._bindings[bool(key_of(template).namespace)]
        await bindings.wait_synced()
        name = binding_name(template["kind"], template["metadata"]["name"])
        present: Binding | None = bindings.get(name, key_of(template).namespace)
        return present if present is not None and belongs_to(to_wire(present), template) else None

    def _is_skipped(self, key: TemplateKey) -> bool:
        namespace, reach = key.key.namespace, self._settings.reach
        return reach.skips_namespace(namespace) or stays_here(key.api_version, key.kind, key.key.name, reach)

    async def _mark(
        self, resource: Resource[Manifest], templates: Informer[Manifest], template: Manifest, patch: Manifest
    ) -> Manifest:
        if not patch:
            return template
        key, version = key_of(template), template["metadata"]["resourceVersion"]
        await self._done.note(_key_of(template), merged(template, patch))
        updated = await self._plane.client.patch(resource, key.name, patch, key.namespace, resource_version=version)
        templates.remember(updated)
        return updated

    async def _ensure_binding(
        self, resource: Resource[Manifest], template: Manifest, policy: AnyPropagationPolicy, marks: Mapping[str, str]
    ) -> None:
        """Creates the binding, or brings the fields that are ours up to date; `marks`: a lazy policy's."""
        priority, had = await self._priority_of(template, policy), await self._binding_of(template)
        multiple = self._features.is_on(HeldFeature.COMPONENTS, had)
        asked = await self._plane.interpreter.replicas(template, multiple)
        grouped = self._features.is_on(HeldFeature.GROUPS, had)
        desired = build_binding(template, policy, priority, grouped, asked, self._settings.quota_estimate)
        key = key_of(desired)
        kind, bindings = self._bindings[bool(key.namespace)]
        await bindings.wait_synced()
        present = bindings.get(key.name, key.namespace)
        noted = present.metadata.annotations.get(TEMPLATE_DIGEST_ANNOTATION) if present is not None else None
        digests = digest_annotations(template, noted)
        desired["metadata"]["annotations"] |= {**digests, **claim_annotations(template), **marks}
        if present is None:
            await self._written.create(kind, bindings, desired)
            self._told.applied(reference_of(resource, template), policy, asked)
            await self._told.not_judged(resource, template)
            return
        wire = to_wire(present)
        if present.metadata.deletion_timestamp is not None or not belongs_to(wire, template):
            return
        is_same = noted in (None, digests[TEMPLATE_DIGEST_ANNOTATION])
        await self._standing.refuse_doubtful(template, present, asked.replicas, is_same=is_same)
        if is_same:
            desired["spec"]["resource"]["resourceVersion"] = present.spec.resource.resource_version
        patch = binding_patch(wire, desired)
        if patch:
            present = await self._written.patch(kind, bindings, present, patch, desired)
        self._features.tell(kind, present, partial(self._controller.failed, _key_of(template)))

    async def _priority_of(self, template: Manifest, policy: AnyPropagationPolicy) -> int | None:
        """Priority of the class that the policy names. Raises: NotFound while there is no such class, as in Karmada."""
        name = named_priority_class(template, policy)
        if name is None or not self._settings.priorities:
            return None
        priority_class = await self._plane.client.get(PRIORITY_CLASSES, name)
        return int(priority_class.get("value", 0))

    def _template_changed(self, key: TemplateKey, is_new: bool) -> None:
        """Looks at it; after the others where a policy has claimed it before this process knew of it."""
        templates = self._templates.of(key.api_version, key.kind)
        template = templates.get(key.key.name, key.key.namespace) if templates is not None else None
        if template is not None and self._done.has(key, template):
            return
        self._done.forget(key)
        self._controller.queue.add(key, late=is_new and template is not None and bool(claimed_by(template)))

    def _binding_changed(self, old: Binding | None, new: Binding | None) -> None:
        """A binding that was deleted is made again, and what someone else wrote into our fields is mended.

        Also where it was the template that it names; of what is out of its reach nothing is looked up.
        """
        is_same = old is not None and new is not None and not concerns_its_template(old, new)
        if is_same or (new is not None and self._written.is_written_here(new)):
            return
        for binding in (old, new):
            if binding is not None:
                self._look_at(binding, late=old is None and is_propagated(binding))

    def _look_at(self, binding: Binding, *, late: bool = False) -> None:
        if not binding_problems(binding, self._settings.reach):
            template = binding.spec.resource
            key = TemplateKey(template.api_version, template.kind, Key(template.namespace, template.name))
            self._controller.queue.add(key, late=late)


def _key_of(template: Manifest) -> TemplateKey:
    return TemplateKey(template["apiVersion"], template["kind"], key_of(template))
