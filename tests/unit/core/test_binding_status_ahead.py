"""Status of a binding after a decision while what was said before still waits to be written."""

from datetime import UTC, datetime, timedelta

from kubeapi.meta import ObjectMeta
from leeward.api.work import BindingResource, ResourceBinding, ResourceBindingSpec, ResourceBindingStatus
from leeward.core.binding_status import status_after
from leeward.core.placement import Decision

BEFORE = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_later_decision_does_not_forget_when_the_binding_was_scheduled() -> None:
    """A request to place afresh was carried out again and again, for ever (seed 71)."""
    waiting = ResourceBindingStatus(scheduler_observed_generation=2, last_scheduled_time=BEFORE + timedelta(seconds=60))
    resource = BindingResource(api_version="apps/v1", kind="Deployment", namespace="default", name="web")
    binding = ResourceBinding(
        metadata=ObjectMeta(name="web", generation=2), spec=ResourceBindingSpec(resource=resource), status=waiting
    )
    written = ResourceBindingStatus(scheduler_observed_generation=1, last_scheduled_time=BEFORE)
    decision = Decision(result=None, clusters=(), eviction_tasks=())
    after = status_after(written, binding, decision, BEFORE + timedelta(seconds=70))
    assert after.last_scheduled_time == waiting.last_scheduled_time
