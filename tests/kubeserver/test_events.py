"""Rules of Events."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.kinds.events import validate_event, validate_new_event

TIME = "2026-01-01T00:00:00.000000Z"
OLD: Manifest = {"metadata": {"name": "e", "namespace": "x"}, "involvedObject": {"kind": "Pod", "namespace": "x"}}
TIMED: Manifest = {
    **OLD,
    "eventTime": TIME,
    "reportingComponent": "example.com/a",
    "reportingInstance": "i",
    "action": "Do",
    "reason": "R",
}
NEW: Manifest = {
    "metadata": {"name": "e", "namespace": "x"},
    "regarding": {"kind": "Pod", "namespace": "x"},
    "eventTime": TIME,
    "reportingController": "example.com/a",
    "reportingInstance": "i",
    "action": "Do",
    "reason": "R",
    "type": "Normal",
}
ELSEWHERE = "does not match event.namespace"


@pytest.mark.parametrize(
    ("event", "changed", "said"),
    [
        (OLD, {}, []),
        (OLD, {"type": "Odd"}, []),
        (
            OLD,
            {"involvedObject": {"namespace": "y"}},
            [f'involvedObject.namespace: Invalid value: "y": {ELSEWHERE}'],
        ),
        (OLD, {"involvedObject": {}}, [f'involvedObject.namespace: Invalid value: "": {ELSEWHERE}']),
        (OLD, {"involvedObject": {}, "metadata": {"namespace": "default"}}, []),
        (TIMED, {}, []),
        (TIMED, {"action": ""}, ["action: Required value"]),
        (TIMED, {"reason": "r" * 129}, ['reason: Invalid value: "": can have at most 128 characters']),
        (TIMED, {"message": "m" * 1025}, ['message: Invalid value: "": can have at most 1024 characters']),
        (TIMED, {"reportingInstance": ""}, ["reportingInstance: Required value"]),
    ],
)
def test_an_event_lies_where_its_object_does_and_says_who_saw_it(
    event: Manifest, changed: dict[str, Any], said: list[str]
) -> None:
    assert [str(problem) for problem in validate_event({**event, **changed}, None)] == said


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, []),
        ({"type": "Odd"}, ['type: Invalid value: "": has invalid value: Odd']),
        ({"eventTime": None}, ["eventTime: Required value"]),
        ({"deprecatedCount": 1}, ['count: Invalid value: "": needs to be unset']),
        (
            {"series": {"count": 1}},
            [
                'series.count: Invalid value: "": should be at least 2',
                "series.lastObservedTime: Required value",
            ],
        ),
    ],
)
def test_a_new_event_says_more(changed: dict[str, Any], said: list[str]) -> None:
    assert [str(problem) for problem in validate_new_event({**NEW, **changed}, None)] == said


def test_only_the_series_of_a_new_event_goes_on() -> None:
    series = {"series": {"count": 2, "lastObservedTime": TIME}}
    assert validate_new_event({**NEW, **series}, NEW) == []
    changed = {**NEW, "note": "n", "reportingController": "example.com/b"}
    fields = [problem.field for problem in validate_new_event(changed, NEW)]
    assert fields == ["message", "reportingController"]
