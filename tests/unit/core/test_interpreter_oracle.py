"""Meanings of kinds, against Karmada's recorded answers.

Karmada decodes into Go structs and prints them again: zero values appear (`strategy: {}`) and quantities change their
text. Results are therefore compared without empty members and zeros, and only in the part that the operation is about.
"""

import json
from collections.abc import Callable
from typing import Any

from kubeapi.codec import from_wire, to_wire
from leeward.api.names import TEMPLATE_GENERATION_ANNOTATION
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter import (
    aggregate_status,
    dependencies_of,
    health_of,
    prune,
    reflect_status,
    replicas_of,
    retain,
    revise_replicas,
)
from leeward.core.interpreter.kinds import rules_of
from tests.oracle import Case, Difference, all_at, at, load, replay, told

Check = Callable[[Case, Any], None]


def without_a_rule(check: Check) -> Callable[[Case], Difference | None]:
    """Expects `check` where Karmada says that a kind has no such rule, and its caller goes on without: we answer so."""

    def differs(case: Case) -> Difference | None:
        is_unknown = "not found" in case.expected.get("error", "")
        return Difference("the kind has no such rule: it is left as it is", check) if is_unknown else None

    return differs


def is_unchanged(case: Case, got: Any) -> None:
    assert got == case.given["object"]


def is_wanted(case: Case, got: Any) -> None:
    """Nothing of what the member has is kept."""
    assert got == told(case.given["object"])


def is_healthy(_: Case, got: Any) -> None:
    """Judges as Karmada's work status controller says of such kinds."""
    assert got is True


def has_its_own_status(case: Case, got: Any) -> None:
    assert got == without_stamps(told(case.given["object"].get("status")) or None)


def test_replicas_and_requirements() -> None:
    def answer(case: Case) -> object:
        replicas, requirements = replicas_of(case.given["object"])
        return replicas, told(to_wire(requirements)) or None

    def expected(case: Case) -> object:
        return case.expected["replicas"], told(case.expected["requirements"]) or None

    replay(load("interpreter", "GetReplicas"), answer, expected, at_least=105)


def test_requirements_are_written_as_kubernetes_prints_them() -> None:
    def answer(case: Case) -> object:
        _, requirements = replicas_of(case.given["object"])
        return at(to_wire(requirements), "resourceRequest") or {}

    replay(
        load("interpreter", "GetReplicas"),
        answer,
        lambda case: at(case.expected, "requirements", "resourceRequest") or {},
        at_least=105,
    )


def test_replicas_are_revised() -> None:
    replay(
        load("interpreter", "ReviseReplica"),
        lambda case: revise_replicas(case.given["object"], case.given["replica"]),
        lambda case: case.expected.get("object"),
        differs=without_a_rule(is_unchanged),
        at_least=95,
    )


def test_health() -> None:
    replay(
        load("interpreter", "InterpretHealth"),
        lambda case: health_of(case.given["object"]) == "Healthy",
        lambda case: case.expected["healthy"],
        differs=without_a_rule(is_healthy),
        at_least=160,
    )


def test_a_kind_without_a_health_rule_is_healthy() -> None:
    assert health_of({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}) == "Healthy"


def test_reflected_status() -> None:
    def differs(case: Case) -> Difference | None:
        if "ParseInt" in case.expected.get("error", ""):
            return Difference("without the template's generation Karmada reports nothing, we report the rest", all_else)
        return None

    def all_else(case: Case, got: Any) -> None:
        """Compares with what is reported of the same object that has a generation, but for that."""
        dated = json.loads(json.dumps(case.given["object"]))
        dated["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION_ANNOTATION] = "7"
        whole = told(reflect_status(dated))
        assert got == {name: value for name, value in whole.items() if name != "resourceTemplateGeneration"}
        assert whole["resourceTemplateGeneration"] == 7

    replay(
        load("interpreter", "ReflectStatus"),
        lambda case: told(reflect_status(case.given["object"])),
        lambda case: told(case.expected["status"]),
        differs=differs,
        at_least=290,
    )


def test_aggregated_status() -> None:
    def answer(case: Case) -> object:
        items = from_wire(case.given["items"] or [], list[AggregatedStatusItem])
        template = aggregate_status(case.given["object"], items) or case.given["object"]
        return without_stamps(told(template.get("status")) or None)

    def expected(case: Case) -> object:
        return without_stamps(told(at(case.expected, "object", "status")) or None)

    def differs(case: Case) -> Difference | None:
        if case.kind == "StatefulSet" and any(_is_well_and_silent(case, item) for item in case.given["items"] or ()):
            return Difference("a healthy set has observed the template that it was made from", all_observed)
        return without_a_rule(has_its_own_status)(case)

    replay(load("interpreter", "AggregateStatus"), answer, expected, differs=differs, at_least=233)


def _is_well_and_silent(case: Case, item: Any) -> bool:
    """Tells whether it is healthy, of the present template, and does not say what its member has observed."""
    generation: int = at(case.given, "object", "metadata", "generation") or 0
    of_template: int = at(item, "status", "resourceTemplateGeneration") or 0
    is_silent = at(item, "status", "observedGeneration") is None
    return at(item, "health") == "Healthy" and of_template >= generation and is_silent


def all_observed(case: Case, got: Any) -> None:
    """Karmada's answer, with the template's own generation as the one that is observed."""
    wanted: dict[str, Any] = without_stamps(told(case.expected["object"].get("status"))) or {}
    assert got == {**wanted, "observedGeneration": at(case.given, "object", "metadata", "generation")}


def without_stamps(status: Any) -> Any:
    """Status without the times that Karmada takes from its clock and we from the members."""
    for condition in all_at(status, "conditions"):
        if condition.get("reason") in ("JobFailed", "Completed"):
            condition.pop("lastProbeTime", None)
            condition.pop("lastTransitionTime", None)
    return status


def test_retained_fields() -> None:
    replay(
        load("interpreter", "Retain"),
        lambda case: told(retain(case.given["object"], case.given["observed"])),
        lambda case: told(case.expected.get("object")),
        differs=without_a_rule(is_wanted),
        at_least=160,
    )


def test_what_is_not_propagated() -> None:
    def differs(case: Case) -> Difference | None:
        if not case.given["removeJobTTLSeconds"] and case.kind == "Job":
            why = "we always leave the time-to-live of Jobs behind, as Karmada's webhook does"
            return Difference(why, all_but_the_time_to_live)
        token = f"{at(case.given, 'object', 'metadata', 'name')}-token-"
        if sum(secret["name"].startswith(token) for secret in all_at(case.given, "object", "secrets")) > 1:
            return Difference("Karmada overlooks the second of two adjacent token secrets", all_but_tokens)
        return None

    replay(
        load("interpreter", "Prune"),
        lambda case: told(prune(case.given["object"])),
        lambda case: told(case.expected["object"]),
        differs=differs,
        at_least=313,
    )


def all_but_the_time_to_live(case: Case, got: Any) -> None:
    wanted: dict[str, Any] = told(case.expected["object"])
    assert wanted["spec"].pop("ttlSecondsAfterFinished") is not None
    assert got == wanted


def all_but_tokens(case: Case, got: Any) -> None:
    wanted: dict[str, Any] = told(case.expected["object"])
    token = f"{wanted['metadata']['name']}-token-"
    wanted["secrets"] = [secret for secret in wanted["secrets"] if not secret["name"].startswith(token)]
    assert got == wanted


def test_every_known_kind_says_something() -> None:
    assert rules_of({"apiVersion": "apps/v1", "kind": "Deployment"}).replicas is not None
    assert rules_of({"apiVersion": "example.com/v1", "kind": "Foo"}).replicas is None


def test_dependencies() -> None:
    def answer(case: Case) -> list[Any]:
        return [to_wire(dependency) for dependency in dependencies_of(case.given["object"])]

    def differs(case: Case) -> Difference | None:
        spec: Any = at(case.given, "object", "spec")
        if case.kind != "Ingress":
            return None
        if any(not at(tls, "secretName") for tls in all_at(spec, "tls")):
            return Difference("a certificate without a Secret names none; Karmada fails", all_that_have_a_name)
        if at(spec, "rules") or at(spec, "defaultBackend"):
            return Difference("Services of an Ingress follow it", all_but_services)
        return None

    replay(
        load("interpreter", "GetDependencies"),
        answer,
        lambda case: case.expected["dependencies"],
        differs=differs,
        at_least=175,
    )


def all_that_have_a_name(case: Case, got: Any) -> None:
    """Karmada's list without the entry that names nothing; beside it only Services that the Ingress names."""
    assert "can not leave name and labelSelector all empty" in case.expected["error"]
    all_but_services(case, got)


def all_but_services(case: Case, got: Any) -> None:
    """Karmada's list, and Services that the Ingress names."""
    named = [dependency for dependency in case.expected["dependencies"] if dependency.get("name")]
    services = [dependency for dependency in got if dependency["kind"] == "Service"]
    assert [dependency for dependency in got if dependency not in services] == named
    spec = json.dumps(case.given["object"]["spec"])
    assert all(f'"name": "{service["name"]}"' in spec for service in services)


HOOKS = {
    "AggregateStatus": "aggregate",
    "InterpretDependency": "dependencies",
    "InterpretHealth": "is_healthy",
    "InterpretReplica": "replicas",
    "Retain": "retain",
    "ReviseReplica": "revise",
}
"""Operations that Karmada may know of a kind, and the rule that is the same here. Every kind's status is reflected."""


def test_something_is_known_of_the_kinds_of_which_karmada_knows_it() -> None:
    def answer(case: Case) -> list[str]:
        rules = rules_of(case.given)
        return [hook for hook, rule in HOOKS.items() if getattr(rules, rule) is not None]

    def expected(case: Case) -> list[str]:
        assert case.expected["InterpretStatus"]
        return [hook for hook in HOOKS if case.expected[hook]]

    def differs(case: Case) -> Difference | None:
        if case.given["kind"] != "ServiceImport":
            return None
        return Difference("a data plane of the Kubernetes API tells its status", more_than_dependencies)

    def more_than_dependencies(case: Case, got: Any) -> None:
        assert expected(case) == ["InterpretDependency"]
        assert got == ["AggregateStatus", "InterpretDependency", "InterpretHealth", "Retain"]

    replay(load("interpreter_hooks"), answer, expected, differs=differs, at_least=18)
