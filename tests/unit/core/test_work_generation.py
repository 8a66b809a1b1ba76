"""Generation of its Work that an object carries, and what of Karmada's is left as it is."""

import pytest

from kubeapi.meta import Manifest, ObjectMeta
from leeward.api.meta import Condition
from leeward.api.names import RENDERED_ANNOTATION, WORK_GENERATION_ANNOTATION, WORK_ID_LABEL
from leeward.api.work import Work, WorkStatus
from leeward.core.execution.work_generation import (
    carries_generation,
    is_left,
    shows,
    with_generation,
    without_due_generation,
)

MANIFEST: Manifest = {"metadata": {"name": "web", "labels": {WORK_ID_LABEL: "w"}}, "spec": {"replicas": 2}}


def work(rendered_by_us: bool = False, applied: int | None = None) -> Work:
    annotations = {RENDERED_ANNOTATION: "true"} if rendered_by_us else {}
    status = WorkStatus() if applied is None else WorkStatus(conditions=(_applied(applied),))
    return Work(metadata=ObjectMeta(name="web-1", generation=3, annotations=annotations), status=status)


def _applied(generation: int) -> Condition:
    return Condition("Applied", "True", "AppliedSuccessful", observed_generation=generation)


def carrying(generation: int | None, work_id: str = "w", replicas: int = 2) -> Manifest:
    annotations = {} if generation is None else {WORK_GENERATION_ANNOTATION: str(generation)}
    return {
        "metadata": {"name": "web", "labels": {WORK_ID_LABEL: work_id}, "annotations": annotations},
        "spec": {"replicas": replicas, "paused": False},
    }


def test_an_object_is_written_with_the_generation_of_its_work() -> None:
    assert carries_generation(with_generation(MANIFEST, work()), work(), MANIFEST)
    assert MANIFEST["metadata"].keys() == {"name", "labels"}, "the Work's own manifest is left alone"


@pytest.mark.parametrize(("generation", "work_id"), [(2, "w"), (None, "w"), (3, "another")])
def test_it_does_not_carry_another_generation_or_another_work_of_that_name(
    generation: int | None, work_id: str
) -> None:
    assert not carries_generation(carrying(generation, work_id), work(), MANIFEST)


def test_only_what_neither_side_has_from_us_is_as_karmada_has_left_it() -> None:
    assert is_left(carrying(None), work())
    assert not is_left(carrying(2), work())
    assert not is_left(carrying(None), work(rendered_by_us=True))
    assert is_left(carrying(None), work(applied=0))
    assert is_left(carrying(None), work(applied=3))
    assert not is_left(carrying(None), work(applied=2)), "somebody has written it since we have seen it"


def test_what_karmada_has_left_is_not_written_for_its_generation_alone() -> None:
    desired = with_generation(MANIFEST, work())
    annotations = without_due_generation(desired, carrying(None), work())["metadata"]["annotations"]
    assert WORK_GENERATION_ANNOTATION not in annotations
    assert without_due_generation(desired, carrying(2), work()) is desired


@pytest.mark.parametrize(("replicas", "work_id", "expected"), [(2, "w", True), (1, "w", False), (2, "x", False)])
def test_it_shows_a_manifest_when_it_has_all_that_is_asked_for(replicas: int, work_id: str, expected: bool) -> None:
    assert shows(carrying(None, work_id, replicas), MANIFEST, MANIFEST) is expected


def test_what_belongs_to_the_member_is_asked_for_as_it_is_there_and_marks_as_the_work_says() -> None:
    retained: Manifest = {**MANIFEST, "spec": {"replicas": 5}}
    assert shows(carrying(None, replicas=5), MANIFEST, retained)
    assert not shows(carrying(None, replicas=2), MANIFEST, retained)
    labelled: Manifest = {**MANIFEST, "metadata": {"name": "web", "labels": {WORK_ID_LABEL: "w", "app": "web"}}}
    assert not shows(carrying(None), labelled, MANIFEST)


@pytest.mark.parametrize("field", ["data", "rules"])
def test_what_was_taken_out_of_a_work_nobody_knows_when_is_no_default(field: str) -> None:
    more: object = {"a": "1", "b": "2"} if field == "data" else [{"verbs": ["get"]}]
    less: object = {"a": "1"} if field == "data" else []
    there = {**carrying(None), field: more}
    assert not shows(there, {**MANIFEST, field: less}, {**MANIFEST, field: less})
    assert shows(there, {**MANIFEST, field: more}, {**MANIFEST, field: more})
