"""Removals that were found wait for whoever may hold them."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from kubeapi.meta import ObjectMeta, OwnerReference
from leeward.api.names import REMOVAL_HELD_ANNOTATION, REMOVAL_ORDERED_ANNOTATION
from leeward.api.work import Work
from leeward.core.execution.settling import (
    FOUND_SECONDS,
    FOUND_UNTOLD_SECONDS,
    RENEWAL_POLL_SECONDS,
    FoundRemoval,
    HeartbeatKept,
    HeartbeatSeen,
    found_left,
    needs_order,
    note_heartbeat,
)
from tests.builders import at


def kept(version: int) -> HeartbeatSeen:
    return HeartbeatSeen(HeartbeatKept.KEPT, version)


def test_s13_what_was_found_waits_until_the_controllers_have_had_time_to_hold_it() -> None:
    found = FoundRemoval(100.0)
    assert found_left(found, 1_000.0) == RENEWAL_POLL_SECONDS
    for now in (101.0, 103.0, 900.0):
        found = note_heartbeat(found, kept(7), now)
        assert found == FoundRemoval(100.0, 7), "the renewal may be of before"
        assert found_left(found, now) == RENEWAL_POLL_SECONDS
    found = note_heartbeat(found, kept(8), 902.0)
    assert found == FoundRemoval(100.0, 7, 902.0)
    assert found_left(found, 902.0) == FOUND_SECONDS
    assert found_left(found, 902.0 + FOUND_SECONDS - 1) == 1
    assert found_left(found, 902.0 + FOUND_SECONDS) == 0
    assert note_heartbeat(found, kept(9), 950.0) == found, "it begins once"


def test_s13_a_heartbeat_that_runs_backwards_is_no_renewal() -> None:
    found = note_heartbeat(FoundRemoval(100.0), kept(70), 101.0)
    found = note_heartbeat(found, kept(50), 103.0)
    assert found == FoundRemoval(100.0, 50)
    assert note_heartbeat(found, kept(51), 105.0).watched_at == 105.0


def test_a_heartbeat_that_is_made_again_is_a_renewal() -> None:
    found = note_heartbeat(FoundRemoval(100.0), kept(0), 101.0)
    assert found_left(found, 101.0) == RENEWAL_POLL_SECONDS
    assert note_heartbeat(found, kept(5), 103.0).watched_at == 103.0


def test_where_no_heartbeat_is_kept_the_time_runs_from_when_it_was_found() -> None:
    found = note_heartbeat(FoundRemoval(100.0), HeartbeatSeen(HeartbeatKept.UNKEPT), 104.0)
    assert found_left(found, 104.0) == FOUND_SECONDS - 4
    assert found_left(found, 100.0 + FOUND_SECONDS) == 0


def test_an_agent_that_sees_a_deletion_begin_where_no_heartbeat_is_kept_waits_for_nobody() -> None:
    """Controllers that keep none give no orders either: the deletion is as old as it can be."""
    found = note_heartbeat(FoundRemoval(100.0, unordered=True), HeartbeatSeen(HeartbeatKept.UNKEPT), 104.0)
    assert found_left(found, 104.0) == 0
    assert found_left(note_heartbeat(replace(found, watched_at=None), kept(7), 104.0), 104.0) == RENEWAL_POLL_SECONDS


NAMED = {"resourcebinding.karmada.io/namespace": "default", "resourcebinding.karmada.io/name": "web-deployment"}
OF_TEMPLATE = {"owner_references": (OwnerReference("v1", "Namespace", "team", "uid-1"),)}
OF_POD = {"owner_references": (OwnerReference("v1", "Pod", "team", "uid-1"),)}


@pytest.mark.parametrize(
    ("metadata", "before", "needs"),
    [
        ({"annotations": NAMED}, None, True),
        (OF_TEMPLATE, None, True),
        (OF_POD, None, False),
        ({}, None, False),
        ({"annotations": NAMED}, at(0), False),
        ({"annotations": {**NAMED, REMOVAL_ORDERED_ANNOTATION: "true"}}, None, False),
        ({"annotations": {**NAMED, REMOVAL_HELD_ANNOTATION: "false"}}, None, False),
    ],
    ids=["of a binding", "of a namespace", "of another owner", "nobody's", "begun before", "ordered", "by a person"],
)
def test_s5_a_deletion_that_begins_needs_an_order_where_a_binding_or_template_may_want_the_work(
    metadata: Any, before: datetime | None, *, needs: bool
) -> None:
    old = Work(metadata=ObjectMeta(name="web", deletion_timestamp=before, **metadata))
    new = Work(metadata=ObjectMeta(name="web", deletion_timestamp=at(1), **metadata))
    assert needs_order(old, new) is needs


def test_where_nobody_may_ask_it_is_longer_but_has_an_end() -> None:
    found = note_heartbeat(FoundRemoval(100.0), HeartbeatSeen(HeartbeatKept.UNTOLD), 104.0)
    assert found_left(found, 104.0) == pytest.approx(FOUND_UNTOLD_SECONDS - 4)
    assert found_left(found, 100.0 + FOUND_UNTOLD_SECONDS) == 0
