"""Instants since which copies are there, as far as that is known: of what is applied, and of nothing else."""

from datetime import datetime, timedelta

import msgspec
import pytest

from leeward.answers.copies import CopyRow, copies_of
from leeward.answers.explanation import explain_binding
from leeward.answers.fleet_state import key_of_binding
from leeward.api.work import GracefulEvictionTask, Work
from leeward.cli.explain_text import explanation_lines
from tests.builders import NOW, binding, cluster, dead, divided, targets, work
from tests.fleet_pictures import picture_of

PLACED = binding(divided({"a": 1}), 2, targets(a=2))
ARRIVED = NOW - timedelta(hours=3)


def work_of(name: str, *, made: datetime, applied: str = "True", at: datetime | None = ARRIVED) -> Work:
    """The Work of PLACED in a cluster, of which `applied` is told since `at`."""
    reported = work(name, 2)
    told = tuple(
        msgspec.structs.replace(condition, status=applied, last_transition_time=at)
        if condition.type == "Applied"
        else condition
        for condition in reported.status.conditions
    )
    marks = {"resourcebinding.karmada.io/name": PLACED.name, "resourcebinding.karmada.io/namespace": PLACED.namespace}
    metadata = msgspec.structs.replace(reported.metadata, annotations=marks, creation_timestamp=made)
    status = msgspec.structs.replace(reported.status, conditions=told)
    return msgspec.structs.replace(reported, metadata=metadata, status=status)


def rows(*works: Work) -> list[CopyRow]:
    return copies_of(picture_of([cluster("a")], [PLACED], works), key_of_binding(PLACED))


def test_a_copy_is_there_since_its_cluster_took_it_and_not_since_its_work_was_made() -> None:
    (row,) = rows(work_of("a", made=ARRIVED - timedelta(days=2)))
    assert row.there_since == ARRIVED


@pytest.mark.parametrize(
    "works",
    [(), (work_of("a", made=ARRIVED, applied="False"),), (work_of("a", made=ARRIVED, at=None),)],
    ids=["no Work", "refused by the member", "nobody knows since when"],
)
def test_nothing_is_said_of_a_copy_that_is_not_known_to_be_there(works: tuple[Work, ...]) -> None:
    (row,) = rows(*works)
    assert row.there_since is None


def test_nothing_is_said_of_a_copy_in_a_cluster_that_is_not_there() -> None:
    (row,) = copies_of(picture_of([], [PLACED], [work_of("a", made=ARRIVED)]), key_of_binding(PLACED))
    assert (row.what, row.there_since) == ("there is no such cluster", None)


def test_a_copy_that_leaves_is_still_there_since_it_came() -> None:
    task = GracefulEvictionTask(from_cluster="b", reason="TaintUntolerated", producer="TaintManager")
    leaving = binding(divided({"a": 1}), 2, targets(a=2), (task,))
    works = [work_of("a", made=NOW, at=NOW), work_of("b", made=ARRIVED)]
    fleet = picture_of([cluster("a"), dead("b")], [leaving], works)
    known = {row.cluster: row.there_since for row in copies_of(fleet, key_of_binding(leaving))}
    assert known == {"a": NOW, "b": ARRIVED}


@pytest.mark.parametrize(
    ("works", "shown"), [((work_of("a", made=ARRIVED),), "2 31 Dec 2025 -"), ((), "? - not applied yet")]
)
def test_explain_says_since_when_a_copy_is_there_at_least(works: tuple[Work, ...], shown: str) -> None:
    told = explain_binding(picture_of([cluster("a")], [PLACED], works), key_of_binding(PLACED))
    lines = [" ".join(line.split()) for line in explanation_lines(told)]
    assert "CLUSTER ASSIGNED READY AT LEAST SINCE WHAT" in lines
    (row,) = [line for line in lines if line.startswith("a 2 ")]
    assert row == f"a 2 {shown}"
