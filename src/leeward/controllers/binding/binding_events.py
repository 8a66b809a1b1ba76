"""Events of the binding controller, on a binding and on its template: Works that were brought up to date, and health.

A success is told when it has changed something; of a status, when what counts in it has: whether it is applied, and
its health. (Karmada tells every sync and every update of a status.) A failure is told whenever it happens.
"""

from collections.abc import Mapping, Sequence

from controller_runtime import NORMAL, WARNING, key_of, reference_of
from kubeapi.meta import Manifest
from kubeclient import Conflict, WorldError
from leeward.api.meta import find_condition
from leeward.api.names import (
    OVERRIDE_FAILED_CONDITION,
    REACHABLE_CONDITION,
    REFUSED_CONDITION,
    REMOVAL_BLOCKED_CONDITION,
    REPLACEMENT_HELD_CONDITION,
    VOLUMES_HELD_CONDITION,
)
from leeward.api.override import OverridePolicy
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.api.work import AggregatedStatusItem, Binding, Work
from leeward.core.execution.addresses import left_out
from leeward.core.overrides.override_rule import AnyOverridePolicy
from leeward.core.overrides.rendering import Overridden, OverrideFailure
from leeward.core.rollout.rollout_decision import STOPPED
from leeward.runtime.binding_kinds import BindingKind, template_of
from leeward.runtime.controller_context import ControlPlane, Recorder


class BindingEvents:
    def __init__(self, plane: ControlPlane, kind: BindingKind) -> None:
        self._kind = kind
        self._works = plane.recorder(kind.controller_name)
        self._status = plane.recorder(kind.status_controller_name)
        self._overrides = plane.recorder("override-manager")

    def synced(self, binding: Binding) -> None:
        message = f"Sync work of {self._name(binding)} successful."
        self._step(self._works, binding, "SyncWorkSucceed", message)

    def not_synced(self, binding: Binding, errors: Sequence[WorldError]) -> None:
        """A conflict is no failure: it is tried again at once."""
        problems = "; ".join(dict.fromkeys(str(error) for error in errors if not isinstance(error, Conflict)))
        if problems:
            message = f"Sync work of {self._name(binding)}: {problems}"
            self._tell(self._works, binding, WARNING, "SyncWorkFailed", message)

    def overridden(self, binding: Binding, cluster: str, overridden: Overridden, before: Work | None) -> None:
        """Tells on the template when other policies than before were applied; not while copies move."""
        annotations = before.metadata.annotations if before is not None else dict[str, str]()
        is_news = any(annotations.get(key) != text for key, text in overridden.annotations.items())
        if is_news and not binding.spec.graceful_eviction_tasks:
            for policy in dict.fromkeys(_title_of(rule.policy) for rule in overridden.applied):
                self._overrides.step(
                    template_of(binding),
                    "ApplyOverridePolicySucceed",
                    f"Apply {policy} for cluster({cluster}) succeed.",
                )

    def aggregated(
        self, binding: Binding, failures: Mapping[str, OverrideFailure], before: Binding, after: Binding
    ) -> None:
        """Tells what was written to `binding`, and why overrides have failed, by cluster."""
        if _what_counts(before) != _what_counts(after):
            message = f"Update {self._name(binding)} with AggregatedStatus successfully."
            self._step(self._status, binding, "AggregateStatusSucceed", message)
        if blocked := _news_of(REMOVAL_BLOCKED_CONDITION, before, after):
            self._tell(self._works, binding, WARNING, "RemovalBlocked", blocked)
        if held := _news_of(VOLUMES_HELD_CONDITION, before, after):
            self._tell(self._works, binding, WARNING, "VolumesHeld", held)
        self._rolled(binding, before, after)
        self._held_by_gate(binding, before, after)
        self._not_reachable(binding, before, after)
        self._not_overridden(binding, failures, before, after)
        self.refused(binding, before, after)

    def addresses_left_out(
        self, binding: Binding, items: Sequence[AggregatedStatusItem], before: Manifest, after: Manifest
    ) -> None:
        """Tells on a Service or an Ingress which addresses were left out of its status, since nothing serves there."""
        if gone := left_out(before.get("status") or {}, items, after.get("status") or {}):
            message = f"Left out {', '.join(gone)}: no replica behind it serves there; others serve elsewhere."
            self._status.note(template_of(binding), NORMAL, "AddressesFollow", message)

    def _rolled(self, binding: Binding, before: Binding, after: Binding) -> None:
        """Tells how far a rollout is, but of the first revision, which nobody waits for."""
        news = _news_of(ROLLOUT_CONDITION, before, after)
        now, known = (find_condition(each.status.conditions, ROLLOUT_CONDITION) for each in (after, before))
        if now is None or not news or (known is None and now.status != "True"):
            return
        if now.reason in STOPPED:
            self._tell(self._works, binding, WARNING, "RolloutStopped", news)
        else:
            self._tell(self._works, binding, NORMAL, "RolloutProgressed", news)

    def _held_by_gate(self, binding: Binding, before: Binding, after: Binding) -> None:
        """Tells that a gate holds a replacement, once for each reason: the last one is that it takes too long."""
        held, known = (find_condition(each.status.conditions, REPLACEMENT_HELD_CONDITION) for each in (after, before))
        if held is not None and (known is None or known.reason != held.reason):
            self._tell(self._works, binding, WARNING, "ReplacementHeld", f"{held.message} ({held.reason})")

    def _not_reachable(self, binding: Binding, before: Binding, after: Binding) -> None:
        found, known = (find_condition(each.status.conditions, REACHABLE_CONDITION) for each in (after, before))
        if found is not None and found.status == "False" and (known is None or known.message != found.message):
            self._tell(self._status, binding, WARNING, "NotReachable", found.message)

    def _not_overridden(
        self, binding: Binding, failures: Mapping[str, OverrideFailure], before: Binding, after: Binding
    ) -> None:
        """The reason is told with the Works, as Karmada does."""
        failed = find_condition(after.status.conditions, OVERRIDE_FAILED_CONDITION)
        known = find_condition(before.status.conditions, OVERRIDE_FAILED_CONDITION)
        if failed is None or (known is not None and known.message == failed.message):
            return
        for cluster, failure in sorted(failures.items()):
            if failure.policy is not None:
                message = f"Apply {_title_of(failure.policy)} for cluster({cluster}) failed."
                self._overrides.note(template_of(binding), WARNING, "ApplyOverridePolicyFailed", message)
        self._tell(
            self._works, binding, WARNING, "SyncWorkFailed", f"Sync work of {self._name(binding)}: {failed.message}"
        )

    def refused(self, binding: Binding, before: Binding, after: Binding) -> None:
        """Tells on the binding alone: its template may be somebody else's."""
        refusal = find_condition(after.status.conditions, REFUSED_CONDITION)
        known = find_condition(before.status.conditions, REFUSED_CONDITION)
        if refusal is not None and (known is None or known.message != refusal.message):
            about = reference_of(self._kind.resource, binding)
            self._works.note(about, WARNING, "BindingRefused", refusal.message)

    def not_aggregated(self, binding: Binding, error: WorldError) -> None:
        """A conflict is no failure: it is tried again at once."""
        if not isinstance(error, Conflict):
            message = f"Update {self._name(binding)} with AggregatedStatus: {error}"
            self._tell(self._status, binding, WARNING, "AggregateStatusFailed", message)

    def _name(self, binding: Binding) -> str:
        return f"{self._kind.resource.kind}({key_of(binding)})"

    def _step(self, recorder: Recorder, binding: Binding, reason: str, message: str) -> None:
        for about in (reference_of(self._kind.resource, binding), template_of(binding)):
            recorder.step(about, reason, message)

    def _tell(self, recorder: Recorder, binding: Binding, event_type: str, reason: str, message: str) -> None:
        for about in (reference_of(self._kind.resource, binding), template_of(binding)):
            recorder.note(about, event_type, reason, message)


def _what_counts(binding: Binding) -> list[tuple[str, bool | None, str]]:
    return [(item.cluster_name, item.applied, item.health) for item in binding.status.aggregated_status]


def _title_of(policy: AnyOverridePolicy) -> str:
    """Title of the policy as Karmada's events name it."""
    if isinstance(policy, OverridePolicy):
        return f"override policy({policy.namespace}/{policy.name})"
    return f"cluster override policy({policy.name})"


def _news_of(condition_type: str, before: Binding, after: Binding) -> str:
    """Message of a condition that is another than before; empty where it is not."""
    now, known = (find_condition(each.status.conditions, condition_type) for each in (after, before))
    return now.message if now is not None and (known is None or known.message != now.message) else ""
