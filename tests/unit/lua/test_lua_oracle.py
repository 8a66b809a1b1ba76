"""Scripts of all kinds of trouble, against Karmada's recorded answers, through the whole chain of interpreters."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from kubeapi.codec import from_wire, to_wire
from kubeapi.loop.clock import Clock
from kubeapi.loop.supervisor import Supervisor
from leeward.api.interpreter_config import ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.scripts import FUNCTIONS
from leeward.core.interpreter.thirdparty.pod_templates import without_nulls
from leeward.lua.checking import customization_problems
from leeward.lua.jail import LocalJail
from leeward.runtime.interpreter import Interpreter, NotInterpreted
from leeward.runtime.interpreter_webhooks import HttpsCalls, InterpreterWebhooks
from tests.oracle import Case, Difference, all_at, amounts, at, load, replay, told

SUITE = "lua"
FAILS = "error"
JAIL = LocalJail()


class Noon(Clock):
    """A clock that stands still."""

    def now(self) -> datetime:
        return datetime(2026, 1, 1, 12, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


async def no_webhooks() -> list[ResourceInterpreterWebhookConfiguration]:
    return []


def interpreter(case: Case) -> Interpreter:
    customizations = [
        from_wire(without_nulls(each), ResourceInterpreterCustomization)
        for each in all_at(case.given, "customizations")
    ]

    async def known() -> list[ResourceInterpreterCustomization]:
        return customizations

    return Interpreter(known, JAIL, Noon(), InterpreterWebhooks(no_webhooks, HttpsCalls(), Noon(), Supervisor("none")))


def by_amount(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {key: amounts(each) if key == "resourceRequest" else by_amount(each) for key, each in members.items()}
    return [by_amount(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def answer(case: Case) -> Any:
    try:
        return asyncio.run(ANSWERS[case.op](interpreter(case), case.given))
    except NotInterpreted:
        return FAILS


async def replicas(of: Interpreter, given: Any) -> Any:
    found = await of.replicas(given["object"])
    return {"replicas": found.replicas, "requirements": by_amount(to_wire(found.requirements))}


async def components(of: Interpreter, given: Any) -> Any:
    return {"components": by_amount(to_wire((await of.replicas(given["object"], True)).components))}


async def revised(of: Interpreter, given: Any) -> Any:
    return {"object": await of.revise(given["object"], given["replica"])}


async def retained(of: Interpreter, given: Any) -> Any:
    return {"object": await of.retain(given["object"], given["observed"])}


async def aggregated(of: Interpreter, given: Any) -> Any:
    items = from_wire(without_nulls(given["items"] or []), list[AggregatedStatusItem])
    return {"object": await of.aggregate(given["object"], items) or given["object"]}


async def dependencies(of: Interpreter, given: Any) -> Any:
    return {"dependencies": to_wire(await of.dependencies(given["object"]))}


async def status(of: Interpreter, given: Any) -> Any:
    return {"status": await of.status(given["object"])}


async def health(of: Interpreter, given: Any) -> Any:
    found = await of.health(given["object"])
    if found == "Unknown":
        raise NotInterpreted("unknown")
    return {"healthy": found == "Healthy"}


ANSWERS: dict[str, Any] = {
    "GetReplicas": replicas,
    "GetComponents": components,
    "ReviseReplica": revised,
    "Retain": retained,
    "AggregateStatus": aggregated,
    "GetDependencies": dependencies,
    "ReflectStatus": status,
    "InterpretHealth": health,
}


def expected(case: Case) -> Any:
    if case.expected.get("error"):
        return FAILS
    wanted = {key: by_amount(value) for key, value in case.expected.items() if key != "unordered"}
    for name in ("components", "dependencies"):
        if name in wanted:
            wanted[name] = wanted[name] or []
    return wanted


Applies = Callable[[Case], bool]
DEFAULTS: dict[str, Callable[[Any], Any]] = {
    "GetReplicas": lambda given: {"replicas": 0, "requirements": None},
    "GetComponents": lambda given: {"components": []},
    "GetDependencies": lambda given: {"dependencies": []},
    "InterpretHealth": lambda given: {"healthy": True},
}
CONFUSING = "*|#@\\"


def script_for(case: Case) -> bool:
    given = case.given["object"]
    operation = next(operation for operation, function in FUNCTIONS.items() if function == case.op)
    return asyncio.run(interpreter(case).is_customized(given, operation))


def check_default(case: Case, got: Any) -> None:
    assert got == DEFAULTS.get(case.op, lambda given: {"object": given["object"]})(case.given)


def check_refused(case: Case, got: Any) -> None:
    assert got == FAILS


def check_reflected(case: Case, got: Any) -> None:
    reported: dict[str, Any] = at(case.given, "object", "status")
    assert {name: value for name, value in got["status"].items() if name in reported}.items() <= reported.items()


def check_status(case: Case, got: Any) -> None:
    assert told(got["object"]["status"]) == told(expected(case)["object"]["status"])


def check_keys(case: Case, got: Any) -> None:
    """Checks that what is empty goes, or stays what it was where the object goes back to its place."""
    spec = without_nulls(at(case.given, "object", "spec"))
    if case.op in ("ReviseReplica", "Retain"):
        unsure = ("mixed",)  # its items are empty in both ways
        assert {k: v for k, v in got["object"]["spec"].items() if k not in unsure} == {
            k: v for k, v in spec.items() if k not in unsure
        }
    else:
        found = got["status"] if case.op == "ReflectStatus" else got["object"]["spec"]
        assert found == {key: value for key, value in spec.items() if value not in ({}, [])}


def keys_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return set(members).union(*(keys_in(each) for each in members.values()))
    if isinstance(value, list):
        return set[str]().union(*(keys_in(each) for each in cast("list[Any]", value)))
    return set()


def has_confusing_keys(case: Case) -> bool:
    return any(mark in key for key in keys_in(at(case.given, "object", "spec")) for mark in CONFUSING)


def all_of(*conditions: Applies) -> Applies:
    return lambda case: all(condition(case) for condition in conditions)


def fails(case: Case) -> bool:
    return case.expected.get("error") is True


def does(op: str) -> Applies:
    return lambda case: case.op == op


def is_of(kind: str) -> Applies:
    return lambda case: case.kind == kind


DIFFERENCES: list[tuple[Applies, Difference]] = [
    (
        all_of(does("ReflectStatus"), is_of("Deployment"), fails, lambda case: not script_for(case)),
        Difference("without the template's generation Karmada reports nothing, we report the rest", check_reflected),
    ),
    (
        all_of(fails, lambda case: not script_for(case)),
        Difference("nobody answers: Karmada's callers ask beforehand, ours get what says nothing", check_default),
    ),
    (
        all_of(does("GetReplicas"), lambda case: case.expected.get("replicas") == -(2**31)),
        Difference("a number of replicas with more than 32 bits is refused, and not cut", check_refused),
    ),
    (
        lambda case: at(case.expected, "object", "kind") not in (None, case.kind),
        Difference("a script may not turn an object into another one", check_refused),
    ),
    (
        lambda case: "\ufffd" in str(case.expected),
        Difference("what is no text is refused, and not made one", check_refused),
    ),
    (
        has_confusing_keys,
        Difference("keys that mean something in paths confuse Karmada, and mean nothing here", check_keys),
    ),
    (
        all_of(does("AggregateStatus"), is_of("Deployment"), lambda case: not script_for(case)),
        Difference("Karmada prints zero values of the whole object; the status alone is written", check_status),
    ),
]


def differs(case: Case) -> Difference | None:
    return next((difference for applies, difference in DIFFERENCES if applies(case)), None)


@pytest.mark.parametrize("op", list(ANSWERS))
def test_scripts_answer_as_they_do_in_karmada(op: str) -> None:
    replay(load(SUITE, op), answer, expected, differs=differs, at_least=30)


def test_calls_one_after_the_other_do_not_know_of_each_other() -> None:
    def of_call(case: Case, call: Any) -> Case:
        given = {**call, "customizations": case.given["customizations"]}
        return Case(case.id, call["operation"], call["object"]["kind"], given, {})

    def answers(case: Case) -> object:
        return [answer(of_call(case, call)) for call in case.given["calls"]]

    def wanted(case: Case) -> object:
        return [FAILS if each.get("error") else by_amount(each["output"]) for each in case.expected["calls"]]

    def check(case: Case, got: Any) -> None:
        """The first call has found nothing of another one in Karmada, either."""
        assert got[0] == cast("list[Any]", wanted(case))[0]
        calls = case.given["calls"]
        for place, each in enumerate(calls):
            assert got[place] == got[calls.index(each)]

    why = Difference("globals do not survive a call", check)
    replay(load(SUITE, "Sequence"), answers, wanted, differs=lambda case: why, at_least=8)


def test_what_is_no_script_or_answers_twice_is_not_admitted() -> None:
    def allowed(case: Case) -> object:
        return {"allowed": not customization_problems(case.given["new"], case.given["customizations"])}

    replay(load(SUITE, "Admission"), allowed, lambda case: case.expected, at_least=13)
