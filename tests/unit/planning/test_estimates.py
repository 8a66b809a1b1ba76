"""Answers of estimators: kept by question, the latest ones, and none of what was not answered."""

from leeward.api.work import Component, ReplicaRequirements
from leeward.core.scheduling.estimates import Question
from leeward.core.scheduling.model import Request
from leeward.planning.estimates import MAX_QUESTIONS, Estimates
from tests.builders import binding, duplicated

NEEDS = ReplicaRequirements(resource_request={"cpu": "1"})
SPEC = binding(duplicated("a"), 2, replica_requirements=NEEDS).spec
ASKED = Question(NEEDS)


def numbered(number: int) -> Question:
    return Question(ReplicaRequirements(resource_request={"cpu": str(number)}))


def test_an_answer_is_found_by_its_question_and_comes_in_the_place_of_the_one_before() -> None:
    estimates = Estimates()
    assert estimates.of(Request(SPEC)) == {}
    assert estimates.about(SPEC) == ()
    for answers in ({"a": 3}, {"a": 1, "b": 2}):
        estimates.put(ASKED, answers)
        assert estimates.of(Request(SPEC)) == answers
        assert estimates.about(SPEC) == ((ASKED, answers),)
    other = binding(duplicated("a"), 2).spec
    assert estimates.of(Request(other)) == {}
    estimates.put(ASKED, {})
    assert estimates.of(Request(SPEC)) == {}
    assert estimates.about(SPEC) == ()


def test_a_set_of_components_is_another_question() -> None:
    components = (Component("worker", 2),)
    spec = binding(duplicated("a"), 2, replica_requirements=NEEDS, components=components).spec
    estimates = Estimates()
    estimates.put(Question(None, components), {"a": 7})
    assert estimates.about(spec) == ((Question(None, components), {"a": 7}),)


def test_the_oldest_answers_go_when_there_are_too_many() -> None:
    estimates = Estimates()
    for number in range(MAX_QUESTIONS):
        estimates.put(numbered(number), {"a": number + 1})
    assert _kept(estimates, 0) == _kept(estimates, MAX_QUESTIONS - 1) == 1
    estimates.put(numbered(0), {"a": 5})
    estimates.put(numbered(MAX_QUESTIONS), {"a": 1})
    assert (_kept(estimates, 0), _kept(estimates, 1), _kept(estimates, MAX_QUESTIONS)) == (1, 0, 1), "it was renewed"


def _kept(estimates: Estimates, number: int) -> int:
    needs = ReplicaRequirements(resource_request={"cpu": str(number)})
    return len(estimates.about(binding(duplicated("a"), 1, replica_requirements=needs).spec))
