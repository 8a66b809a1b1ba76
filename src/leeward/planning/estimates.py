"""Estimates: the latest answers of estimators outside of the scheduler, by question. Nothing here asks or waits."""

from leeward.api.work import ResourceBindingSpec
from leeward.core.scheduling.estimates import Answers, Question, question_of
from leeward.core.scheduling.model import Request

MAX_QUESTIONS = 1_000


class Estimates:
    """Answers to the latest `MAX_QUESTIONS` questions."""

    def __init__(self) -> None:
        self._answers: dict[bytes, Answers] = {}

    def put(self, question: Question, answers: Answers) -> None:
        """Puts answers in the place of earlier ones; nothing is kept of a question without any answer."""
        self._answers.pop(question.key, None)
        if answers:
            self._answers[question.key] = answers
        while len(self._answers) > MAX_QUESTIONS:
            del self._answers[next(iter(self._answers))]

    def about(self, spec: ResourceBindingSpec) -> tuple[tuple[Question, Answers], ...]:
        """Questions that placing the binding can lead to and that were answered, with the answers: for replicas, and
        for a set."""
        questions = (Question(spec.replica_requirements), Question(None, spec.components))
        found = ((question, self._answers.get(question.key)) for question in questions)
        return tuple((question, answers) for question, answers in found if answers)

    def of(self, request: Request) -> Answers:
        return self._answers.get(question_of(request).key, {}) if self._answers else {}
