"""Instant at which an agent's Lease was received last."""

from datetime import UTC, datetime

import pytest

from leeward.controllers.cluster.lease_tracker import received_at

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("times", "received"),
    [
        ([], None),
        (["2026-01-01T12:00:00Z", "2026-01-01T11:00:00Z"], NOON),
        ([None, "2026-01-01T12:00:00Z"], NOON),
        (["2026-02-31T12:00:00Z", "2026-01-01T12:00:00Z"], NOON),
        (["0000-01-01T00:00:00Z"], None),
    ],
)
def test_a_lease_was_received_when_the_last_date_says_that_can_be_read(
    times: list[str | None], received: datetime | None
) -> None:
    assert received_at({"metadata": {"managedFields": [{"time": time} for time in times]}}) == received
