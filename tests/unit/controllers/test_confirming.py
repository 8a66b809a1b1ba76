"""Instants at which an outage that no probe can tell of is looked at again."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubeapi.loop.lag import EventLoopLag
from leeward.controllers.cluster.confirming import OutageConfirmation
from leeward.core.cluster_health.watched_time import Attention
from tests.builders import cluster

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("left", [5.0, 1e-6, 1e-15])
def test_l5_what_is_left_of_the_time_to_listen_is_never_over_now(left: float) -> None:
    """Less than a microsecond was no time at all, and the controller woke at once, again and again (seed 120)."""
    clock = SimpleNamespace(now=lambda: NOW, monotonic=lambda: 0.0)
    heartbeat = SimpleNamespace(began=left, attention=lambda: Attention(heartbeat="it"))
    patience = SimpleNamespace(grace_seconds=0.0)
    plane = SimpleNamespace(clock=clock, lag=EventLoopLag())
    confirmation = OutageConfirmation(cast(Any, plane), cast(Any, heartbeat), cast(Any, patience), probes=False)
    look_at = confirmation.look_at(cluster("m1", ready="Unknown"))
    assert look_at is not None
    assert look_at > NOW
