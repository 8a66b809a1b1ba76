"""Several estimators on the virtual clock: the minimum counts, and one that hangs costs its deadline and no more."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from leeward.api.work import ReplicaRequirements
from leeward.core.scheduling.estimates import Answers, Question
from leeward.runtime.estimators import Estimator, Estimators
from leeward.runtime.metrics import Metrics

DEADLINE = 3.0
ANY = Question(None)


@dataclass
class Told:
    """Answers as it is told, after so many seconds, and notes what it was asked."""

    name: str
    answers: Mapping[str, int]
    seconds: float = 0
    failure: Exception | None = None
    asked: list[Sequence[str]] = field(default_factory=list[Sequence[str]])

    async def estimate(self, question: Question, clusters: Sequence[str]) -> Answers:
        self.asked.append(clusters)
        await asyncio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        return self.answers


def ask(story: Callable[[Estimators], Awaitable[None]], *estimators: Estimator, metrics: Metrics | None = None) -> None:
    async def run() -> None:
        async with Supervisor() as supervisor:
            await story(Estimators(estimators, VirtualClock(), metrics or Metrics(), supervisor, DEADLINE))

    run_virtual(run())


def now() -> float:
    return asyncio.get_running_loop().time()


def test_the_minimum_of_all_answers_counts_by_cluster() -> None:
    async def story(estimators: Estimators) -> None:
        assert await estimators.ask(ANY, ["m1", "m2", "m3"]) == {"m1": 4, "m2": 2}

    ask(story, Told("nodes", {"m1": 9, "m2": 2, "m3": -1}), Told("quota", {"m1": 4}))


def test_estimators_are_asked_at_the_same_time() -> None:
    async def story(estimators: Estimators) -> None:
        await estimators.ask(ANY, ["m1"])
        assert now() == 2

    ask(story, Told("a", {}, seconds=2), Told("b", {}, seconds=2))


def test_one_that_hangs_costs_its_deadline_once_and_is_left_out() -> None:
    hanging, metrics = Told("hanging", {"m1": 0}, seconds=9_999), Metrics()

    async def story(estimators: Estimators) -> None:
        assert await estimators.ask(ANY, ["m1"]) == {"m1": 7}
        assert now() == DEADLINE
        for _ in range(100):
            assert await estimators.ask(ANY, ["m1"]) == {"m1": 7}
        assert now() == DEADLINE
        assert len(hanging.asked) == 1

    ask(story, hanging, Told("well", {"m1": 7}), metrics=metrics)
    assert b'leeward_estimator_answers_total{estimator="hanging",result="late"} 1.0' in metrics.render()


def test_a_hundred_bindings_that_ask_at_once_wait_one_deadline_together() -> None:
    async def story(estimators: Estimators) -> None:
        questions = [Question(ReplicaRequirements(resource_request={"cpu": f"{n}m"})) for n in range(100)]
        await asyncio.gather(*(estimators.ask(question, ["m1"]) for question in questions))
        assert now() == DEADLINE

    ask(story, Told("hanging", {}, seconds=9_999))


def test_the_same_question_is_asked_once_at_a_time() -> None:
    one = Told("one", {"m1": 1}, seconds=1)

    async def story(estimators: Estimators) -> None:
        answers = await asyncio.gather(*(estimators.ask(ANY, ["m1"]) for _ in range(10)))
        assert answers == [{"m1": 1}] * 10
        assert len(one.asked) == 1
        await estimators.ask(ANY, ["m1"])
        assert len(one.asked) == 2

    ask(story, one)


def test_one_that_errs_is_left_out_and_counted() -> None:
    metrics = Metrics()

    async def story(estimators: Estimators) -> None:
        assert await estimators.ask(ANY, ["m1"]) == {"m1": 7}

    failing = Told("failing", {"m1": 0}, failure=RuntimeError("no"))
    ask(story, failing, Told("well", {"m1": 7}), metrics=metrics)
    assert b'leeward_estimator_answers_total{estimator="failing",result="error"} 1.0' in metrics.render()


def test_an_answer_that_is_none_is_an_error_and_not_a_crash() -> None:
    async def story(estimators: Estimators) -> None:
        assert await estimators.ask(ANY, ["m1"]) == {}

    ask(story, Told("odd", {"m1": "many"}))  # type: ignore[dict-item]


def test_one_that_rests_is_tried_with_one_question_and_comes_back() -> None:
    sick = Told("sick", {"m1": 1}, failure=RuntimeError("no"))

    async def story(estimators: Estimators) -> None:
        await estimators.ask(ANY, ["m1"])
        await asyncio.sleep(11)
        await estimators.ask(ANY, ["m1"])
        assert len(sick.asked) == 2
        await asyncio.sleep(11)
        await estimators.ask(ANY, ["m1"])
        assert len(sick.asked) == 2, "it rests longer after the second failure"
        sick.failure = None
        await asyncio.sleep(10)
        assert await estimators.ask(ANY, ["m1"]) == {"m1": 1}
        assert await estimators.ask(ANY, ["m1"]) == {"m1": 1}

    ask(story, sick)


def test_without_estimators_there_is_nobody_to_ask() -> None:
    async def story(estimators: Estimators) -> None:
        assert not estimators
        assert await estimators.ask(ANY, ["m1"]) == {}

    ask(story)
