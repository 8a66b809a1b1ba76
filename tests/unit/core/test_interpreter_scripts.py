"""Scripts of customizations: which one answers, and what is made of what it returns."""

from collections.abc import Callable
from typing import Any

import pytest

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from leeward.api.interpreter_config import ResourceInterpreterCustomization
from leeward.core.interpreter.rules import InterpretationError
from leeward.core.interpreter.scripts import (
    FIELDS,
    Operation,
    Script,
    components_in,
    dependencies_in,
    duplicate_problems,
    health_in,
    object_in,
    replicas_in,
    requirements_in,
    script_of,
    scripts_for,
    status_in,
)

FARM = {"apiVersion": "example.com/v1", "kind": "Farm"}


def customization(
    name: str, *operations: Operation, target: Manifest = FARM, text: str = "x"
) -> ResourceInterpreterCustomization:
    """Customization that answers these operations with scripts that are `text` and the field."""
    rules = {FIELDS[each]: {"luaScript": f"{text}{FIELDS[each]}" if text else ""} for each in operations}
    wire = {"metadata": {"name": name}, "spec": {"target": target, "customizations": rules}}
    return from_wire(wire, ResourceInterpreterCustomization)


@pytest.mark.parametrize("operation", list(Operation))
def test_each_operation_has_a_script_of_its_own(operation: Operation) -> None:
    every = customization("a", *Operation)
    script = script_of(every, operation)
    assert script is not None
    assert script.lua_script == f"x{FIELDS[operation]}"
    assert script_of(customization("a"), operation) is None
    assert scripts_for([every], "example.com/v1", "Farm", operation) == [Script("a", f"x{FIELDS[operation]}")]


def test_the_first_by_name_answers_and_of_dependencies_all() -> None:
    known = [
        customization("c", Operation.HEALTH, Operation.DEPENDENCY),
        customization("b", Operation.HEALTH, Operation.DEPENDENCY, target={**FARM, "kind": "Barn"}),
        customization("a", Operation.HEALTH, Operation.DEPENDENCY, text=""),
        customization("B", Operation.HEALTH, Operation.DEPENDENCY),
    ]
    assert [each.customization for each in scripts_for(known, "example.com/v1", "Farm", Operation.HEALTH)] == ["B"]
    every = scripts_for(known, "example.com/v1", "Farm", Operation.DEPENDENCY)
    assert [each.customization for each in every] == ["B", "c"]
    assert scripts_for(known, "example.com/v2", "Farm", Operation.HEALTH) == []


def test_two_that_answer_the_same_question_are_told_with_the_field() -> None:
    new = customization("new", Operation.HEALTH, Operation.RETAIN, Operation.DEPENDENCY)
    others = [
        customization("z", Operation.RETAIN),
        customization("b", Operation.HEALTH, Operation.DEPENDENCY),
        customization("empty", Operation.HEALTH, text=""),
        customization("new", Operation.HEALTH),
        customization("barn", Operation.HEALTH, target={**FARM, "kind": "Barn"}),
        customization("other", Operation.STATUS),
    ]
    told = [(problem.field, problem.message) for problem in duplicate_problems(new, others)]
    says = "Forbidden: {} answers this for example.com/v1 Farm already; change that one"
    assert told == [
        ("spec.customizations.healthInterpretation", says.format("b")),
        ("spec.customizations.retention", says.format("z")),
    ]


def refusal(read: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(InterpretationError) as refused:
        read(*arguments)
    return str(refused.value)


def test_replicas_are_a_number_of_32_bits_and_what_each_needs() -> None:
    found = replicas_in([3, {"resourceRequest": {"cpu": "1"}, "nodeClaim": {}}])
    assert (found.replicas, found.components) == (3, ())
    assert found.requirements is not None
    assert (found.requirements.resource_request, found.requirements.node_claim) == ({"cpu": "1"}, None)
    assert replicas_in([2.0]).replicas == 2
    assert isinstance(replicas_in([2.0]).replicas, int)
    assert replicas_in([1, None, "more"]).requirements is None
    assert (replicas_in([2**31 - 1]).replicas, replicas_in([-(2**31)]).replicas) == (2**31 - 1, -(2**31))


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([], "GetReplicas must return a number, not nothing"),
        ([None], "GetReplicas must return a number, not nothing"),
        ([True], "GetReplicas must return a number, not a bool"),
        (["3"], "GetReplicas must return a number, not a str"),
        ([2**31], "GetReplicas returned 2147483648, which has more than 32 bits"),
        ([-(2**31) - 1], "GetReplicas returned -2147483649, which has more than 32 bits"),
        ([1, "much"], "requirements must be a table, not a str"),
        ([1, {"resourceRequest": "much"}], "requirements: Expected `object`, got `str` - at `$.resourceRequest`"),
        ([1, {"resourceRequest": {"cpu": "much"}}], "resourceRequest[cpu]: "),
    ],
)
def test_replicas_that_make_no_sense_are_refused(results: list[Any], said: str) -> None:
    assert refusal(replicas_in, results).startswith(said)


def test_requests_are_written_as_kubernetes_writes_them() -> None:
    needs = {"resourceRequest": {"cpu": 0.05, "memory": "2048Mi", "ephemeral-storage": "1.5Gi", "example.com/gpu": 2}}
    written = {"cpu": "50m", "memory": "2Gi", "ephemeral-storage": "1536Mi", "example.com/gpu": "2"}
    found = (
        requirements_in(needs),
        components_in([[{"name": "a", "replicaRequirements": needs}]])[0].replica_requirements,
    )
    assert [each.resource_request for each in found if each is not None] == [written, written]


def test_nothing_is_needed_where_nothing_is_said() -> None:
    assert requirements_in(None) is None
    empty = requirements_in({})
    assert empty is not None
    assert empty.resource_request == {}


def test_components_are_a_list_of_tables() -> None:
    needs = {"resourceRequest": {"cpu": "1"}}
    found = components_in([[{"name": "a", "replicas": 2, "replicaRequirements": needs}, {}, {"replicas": 1}]])
    assert [(each.name, each.replicas) for each in found] == [("a", 2), ("", 1)]
    assert found[0].replica_requirements is not None
    assert found[0].replica_requirements.resource_request == {"cpu": "1"}
    assert found[1].replica_requirements is None
    assert components_in([[{"name": "a"}]])[0].replicas == 0
    assert components_in([]) == components_in([None]) == components_in([{}]) == components_in([[]]) == ()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("text", "GetComponents must return a list, not a str"),
        ({"a": 1}, "GetComponents must return a list, not a dict"),
        (["text"], "a component must be a table, not a str"),
        ([{"name": "a", "replicas": "two"}], "components: Expected `int`, got `str`"),
        (
            [{"name": "a", "replicaRequirements": {"resourceRequest": {"cpu": "much"}}}],
            "resourceRequest[cpu]: ",
        ),
    ],
)
def test_components_that_make_no_sense_are_refused(found: Any, said: str) -> None:
    assert refusal(components_in, [found]).startswith(said)


def test_an_object_keeps_what_is_empty_where_it_was_so_before() -> None:
    found: Manifest = {
        "kind": "Farm",
        "spec": {"labels": {}, "list": {}, "new": {}, "items": [{"a": {}}, {"b": {}}, {}]},
    }
    before: Manifest = {"spec": {"labels": {}, "list": [], "items": [{"a": []}, {"x": 1}]}}
    assert object_in([found], "Retain", before) == {
        "kind": "Farm",
        "spec": {"labels": {}, "list": [], "items": [{"a": []}, {}]},
    }
    other: Manifest = {"spec": {"new": [], "items": [{"b": {}}, {}]}}
    assert object_in([found], "Retain", before, other)["spec"] == {
        "labels": {},
        "list": [],
        "new": [],
        "items": [{"a": []}, {"b": {}}, {}],
    }
    assert object_in([found], "Retain") == {"kind": "Farm", "spec": {"items": [{}, {}]}}


def test_a_list_in_a_list_is_restored_as_well() -> None:
    found: Manifest = {"kind": "Farm", "rows": [["a", {}], [{}]]}
    assert object_in([found], "Retain", {"rows": [[[]], "text"]})["rows"] == [["a", []], [[]]]
    assert object_in([found], "Retain", {"rows": "text"})["rows"] == [["a"], []]


NOTHING: list[Any] = []


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (NOTHING, "Retain must return a table, not nothing"),
        ([["text"]], "Retain must return a table, not a list"),
        ([{"spec": 1}], "Retain returned an object without kind"),
        ([{"kind": 7}], "Retain returned an object without kind"),
    ],
)
def test_an_object_that_is_none_is_refused(results: list[Any], said: str) -> None:
    assert refusal(object_in, results, "Retain") == said


def test_a_status_is_a_table_or_a_list() -> None:
    assert status_in([{"a": {}, "b": 1}]) == {"b": 1}
    assert status_in([[{"a": 1}, {}]]) == [{"a": 1}]
    assert refusal(status_in, []) == "ReflectStatus must return a table, not nothing"
    assert refusal(status_in, [7]) == "ReflectStatus must return a table, not a int"


def test_health_is_true_or_false_and_nothing_else() -> None:
    assert health_in([True])
    assert not health_in([False])
    assert refusal(health_in, []) == "InterpretHealth must return true or false, not nothing"
    assert refusal(health_in, [1]) == "InterpretHealth must return true or false, not a int"


SECRET = {"apiVersion": "v1", "kind": "Secret", "namespace": "default", "name": "key"}


def selecting(**selector: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "labelSelector": selector}


def expression(operator: str, *values: str, key: str = "app") -> Manifest:
    return {"key": key, "operator": operator, "values": list(values)}


def test_dependencies_are_named_or_selected() -> None:
    by_name, by_label = dependencies_in([[SECRET, {}, selecting(matchLabels={"app": "web"})]])
    assert (by_name.api_version, by_name.kind, by_name.namespace, by_name.name) == ("v1", "Secret", "default", "key")
    assert by_label.label_selector is not None
    assert by_label.label_selector.match_labels == {"app": "web"}
    assert dependencies_in([{}]) == dependencies_in([[]]) == []
    for requirement in (expression("In", "a"), expression("NotIn", "a"), expression("Exists")):
        assert len(dependencies_in([[selecting(matchExpressions=[requirement])]])) == 1


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "GetDependencies must return a list, not nothing"),
        ("text", "GetDependencies must return a list, not a str"),
        (["text"], "a dependency must be a table, not a str"),
        ([{**SECRET, "apiVersion": ""}], "a dependency must have apiVersion"),
        ([{"apiVersion": "v1", "name": "key"}], "a dependency must have kind"),
        ([{**SECRET, "name": ""}], "a dependency must have name or labelSelector"),
        ([{**SECRET, "name": 7}], "dependencies: Expected `str`, got `int` - at `$.name`"),
        (
            [selecting(matchExpressions=[expression("Is", "a")])],
            "labelSelector of a dependency: operator 'Is' must be one of In, NotIn, Exists, DoesNotExist",
        ),
        (
            [selecting(matchExpressions=[expression("In")])],
            "labelSelector of a dependency: operator In has values, or has none, where it must not",
        ),
        (
            [selecting(matchExpressions=[expression("DoesNotExist", "a")])],
            "labelSelector of a dependency: operator DoesNotExist has values, or has none, where it must not",
        ),
        ([selecting(matchLabels={"no key": "a"})], "labelSelector of a dependency: "),
        ([selecting(matchLabels={"app": "no value"})], "labelSelector of a dependency: "),
        ([selecting(matchExpressions=[expression("Exists", key="no key")])], "labelSelector of a dependency: "),
        ([selecting(matchExpressions=[expression("In", "a", "no value")])], "labelSelector of a dependency: "),
    ],
)
def test_dependencies_that_make_no_sense_are_refused(found: Any, said: str) -> None:
    assert refusal(dependencies_in, [found]).startswith(said)


def test_no_result_is_no_list_of_dependencies() -> None:
    assert refusal(dependencies_in, []) == "GetDependencies must return a list, not nothing"
