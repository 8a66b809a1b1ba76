"""Identity of a member: which one is accepted, and which one waits for somebody."""

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster, ClusterSpec, ClusterStatus
from leeward.api.meta import Condition, find_condition
from leeward.api.names import CONFIRMED_IDENTITY_ANNOTATION, IDENTITY_CONDITION, REPLACED_CONDITION
from leeward.core.cluster_health.cluster_identity import (
    MAX_UID,
    accepted_identity,
    is_accepted,
    is_held_back,
    replaced,
    replaced_by,
    with_identity,
)
from tests.builders import at

READY = Condition("Ready", "True", "ClusterReady", last_transition_time=at(0))
AWAY = Condition("Ready", "False", "ClusterNotReachable", last_transition_time=at(0))
FIRST, SECOND = "0b7a52f4-6c39-4a57-9a0c-3f1d8e2b6c01", "0b7a52f4-6c39-4a57-9a0c-3f1d8e2b6c02"


def cluster(*conditions: Condition, joined_as: str = "", confirmed: str = "") -> Cluster:
    annotations = {CONFIRMED_IDENTITY_ANNOTATION: confirmed} if confirmed else {}
    metadata = ObjectMeta(name="member1", annotations=annotations)
    return Cluster(
        metadata=metadata, spec=ClusterSpec(sync_mode="Push", id=joined_as), status=ClusterStatus(conditions=conditions)
    )


def seen(before: Cluster, uid: str, seconds: int = 0) -> Cluster:
    """The cluster after a look at a member with this identity."""
    conditions = with_identity(before, before.status.conditions, uid, at(seconds))
    return msgspec.structs.replace(before, status=msgspec.structs.replace(before.status, conditions=conditions))


def confirmed(before: Cluster, uid: str) -> Cluster:
    annotations = {CONFIRMED_IDENTITY_ANNOTATION: uid}
    return msgspec.structs.replace(before, metadata=msgspec.structs.replace(before.metadata, annotations=annotations))


@pytest.mark.parametrize("joined_as", ["", "a", "written by hand"])
def test_the_first_look_accepts_whom_it_finds(joined_as: str) -> None:
    known = seen(cluster(joined_as=joined_as), "a")
    assert accepted_identity(known) == "a"
    assert replaced(known) is None
    assert not is_held_back(known, "a")


@pytest.mark.parametrize("joined_as", ["", FIRST, SECOND, "prod-eu-1"])
def test_a_cluster_that_is_ready_at_the_first_look_is_accepted_whatever_its_id(joined_as: str) -> None:
    known = seen(cluster(READY, joined_as=joined_as), SECOND)
    assert (accepted_identity(known), replaced(known)) == (SECOND, None)
    assert not is_held_back(cluster(READY, joined_as=joined_as), SECOND)


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_cluster_that_is_away_at_the_first_look_is_the_one_that_joined(status: str) -> None:
    away = msgspec.structs.replace(AWAY, status=status)
    assert replaced(seen(cluster(away, joined_as=FIRST), FIRST)) is None
    assert replaced_by(seen(cluster(away, joined_as=FIRST), SECOND)) == SECOND
    assert is_held_back(cluster(away, joined_as=FIRST), SECOND)


@pytest.mark.parametrize("joined_as", ["", "prod-eu-1", FIRST + "0", "a" * 36])
def test_an_id_that_is_no_uid_proves_nothing(joined_as: str) -> None:
    assert replaced(seen(cluster(AWAY, joined_as=joined_as), SECOND)) is None


def test_another_one_waits_until_just_that_one_is_confirmed() -> None:
    other = seen(seen(cluster(READY, joined_as="a"), "a"), "b", 60)
    assert (accepted_identity(other), replaced_by(other)) == ("a", "b")
    assert is_held_back(other, "")
    assert is_held_back(other, "b")
    assert not is_held_back(other, "a"), "the cluster itself has just said that it is the first one"
    taken = confirmed(other, "b")
    assert not is_held_back(taken, "")
    known = seen(taken, "b", 120)
    assert (accepted_identity(known), replaced(known), replaced_by(known)) == ("b", None, "")
    third = seen(known, "c", 180)
    assert (accepted_identity(third), replaced_by(third)) == ("b", "c")
    assert is_held_back(third, "")


def test_the_first_one_that_is_back_needs_nobody() -> None:
    back = seen(seen(seen(cluster(READY), "a"), "b", 60), "a", 120)
    found = find_condition(back.status.conditions, REPLACED_CONDITION)
    assert found is not None
    assert (found.status, found.last_transition_time) == ("False", at(120))
    record = find_condition(back.status.conditions, IDENTITY_CONDITION)
    assert record is not None
    assert (record.status, record.message) == ("True", "a")


def test_who_says_nothing_changes_nothing() -> None:
    known = seen(cluster(READY), "a")
    assert seen(known, "") == known
    assert seen(known, "x" * (MAX_UID + 1)) == known
    assert not is_held_back(known, "")
    assert is_accepted(known, "")
    assert is_held_back(seen(known, "b"), ""), "what the last look has found stands"


def test_an_id_that_is_written_into_the_cluster_later_is_no_confirmation() -> None:
    other = seen(seen(cluster(READY, joined_as="a"), "a"), "b")
    rewritten = msgspec.structs.replace(other, spec=ClusterSpec(sync_mode="Push", id="b"))
    assert is_held_back(rewritten, "b")
