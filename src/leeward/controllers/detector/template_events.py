"""Events of the detector on templates, where Karmada is silent, each once.

It looks at what policies select; what is done with a template is the detector's.
"""

from collections import OrderedDict
from datetime import datetime, timedelta

from kubeapi.core import ObjectReference
from kubeapi.meta import Manifest, parse_time
from kubeapi.resource import Resource
from leeward.api.names import is_reserved_namespace
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.work import Binding
from leeward.core.interpreter import ReplicaInterpretation, why_not_judged
from leeward.core.propagation.matching import BY_NAME
from leeward.core.propagation.reach import Reach, is_own_in_each_cluster
from leeward.core.propagation.selecting import precision_in
from leeward.runtime.controller_context import ControlPlane, Recorder
from leeward.runtime.policy_matching import PolicyMatching
from leeward.runtime.templates import TemplateKey

_IN_FLAG = "in --skipped-propagating-namespaces"
SKIPPED_TOLD = 4_096
"""Number of templates that are remembered, so that each is told of once."""
WAITS_FOR_FINALIZERS = timedelta(seconds=60)
"""Time for which a template may be deleted before its finalizers are told of: Kubernetes' own are gone long before."""


class TemplateEvents:
    def __init__(self, plane: ControlPlane, recorder: Recorder, matching: PolicyMatching, reach: Reach) -> None:
        self._interpreter = plane.interpreter
        self._recorder = recorder
        self._matching = matching
        self._reach = reach
        self._not_judged_told: set[tuple[str, str]] = set()
        """Kinds: there are no more than are defined."""
        self._skipped_told: OrderedDict[TemplateKey, tuple[str, str]] = OrderedDict()
        self._terminating_told: OrderedDict[str, None] = OrderedDict()
        """Templates by uid."""

    def forget(self, key: TemplateKey) -> None:
        self._skipped_told.pop(key, None)

    async def skipped(self, key: TemplateKey, resource: Resource[Manifest], template: Manifest) -> None:
        """A template stays here although a policy selects it.

        What lies in a reserved namespace is the control plane's own, and some objects are each cluster's own: they are
        told of only where a policy names them.
        """
        if key.kind == "Event" or self._reach.skipped_apis.skips(key.api_version, key.kind):
            return
        policy = await self._matching.find(template)
        namespace = key.key.namespace or key.key.name
        reserved = is_reserved_namespace(namespace)
        own = is_own_in_each_cluster(key.api_version, key.kind, key.key.name)
        if policy is None or (
            (reserved or own) and precision_in(self._matching.selected_by(policy), template) < BY_NAME
        ):
            self.forget(key)
            return
        told = template["metadata"].get("uid", ""), policy.metadata.uid
        if self._skipped_told.get(key) == told:
            return
        self._skipped_told[key] = told
        if len(self._skipped_told) > SKIPPED_TOLD:
            self._skipped_told.popitem(last=False)
        why = _why_skipped(namespace, reserved=reserved, own=own)
        message = f"not propagated, though policy({name_of_policy(policy)}) selects it: {why}"
        self._recorder.warning(resource, template, "ApplyPolicySkipped", message)

    def applied(self, about: ObjectReference, policy: AnyPropagationPolicy, asked: ReplicaInterpretation) -> None:
        """A binding was made of the template."""
        if asked.replicas or asked.requirements is not None:
            self._recorder.step(about, "GetReplicasSucceed", "Get replicas of resource template successfully.")
        message = f"Apply policy({name_of_policy(policy)}) succeed"
        self._recorder.step(about, "ApplyPolicySucceed", message)

    def terminating(
        self, resource: Resource[Manifest], template: Manifest, binding: Binding, now: datetime
    ) -> datetime | None:
        """A template that was deleted waits for somebody's finalizers, and runs on in members; when to look again."""
        metadata = template["metadata"]
        due = parse_time(metadata["deletionTimestamp"]) + WAITS_FOR_FINALIZERS
        told = metadata.get("uid", "")
        if not metadata.get("finalizers") or told in self._terminating_told:
            return None
        if now < due:
            return due
        self._terminating_told[told] = None
        while len(self._terminating_told) > SKIPPED_TOLD:
            self._terminating_told.popitem(last=False)
        where = ", ".join(target.name for target in binding.spec.clusters) or "no cluster"
        message = (
            f"it is being deleted, and waits for whoever set the finalizers {', '.join(metadata['finalizers'])}: until "
            f"they take them off, it stays in {where}"
        )
        self._recorder.warning(resource, template, "DeletionWaitsForFinalizers", message)
        return None

    async def not_judged(self, resource: Resource[Manifest], template: Manifest) -> None:
        """Tells that nobody can say of its kind when it does its work."""
        kind = template["apiVersion"], template["kind"]
        if kind in self._not_judged_told or not await self._interpreter.lacks_health_rule(template):
            return
        self._not_judged_told.add(kind)
        self._recorder.warning(resource, template, "HealthNotInterpreted", why_not_judged(kind[1]))


def name_of_policy(policy: AnyPropagationPolicy) -> str:
    """Name of the policy as Karmada's events have it."""
    return f"{policy.namespace}/{policy.name}" if policy.namespace else policy.name


def described(policy: AnyPropagationPolicy) -> str:
    """Description with which Karmada's events begin."""
    return f"{'Propagation' if policy.namespace else 'Cluster propagation'} policy({name_of_policy(policy)})"


def lowered(text: str) -> str:
    return text[0].lower() + text[1:]


def _why_skipped(namespace: str, *, reserved: bool, own: bool) -> str:
    if own and not reserved:
        return "each cluster makes its own in every namespace"
    return f"namespace {namespace} is {'reserved for the control plane' if reserved else _IN_FLAG}"
