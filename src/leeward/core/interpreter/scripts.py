"""Scripts of ResourceInterpreterCustomizations: which one answers, what it is called with, and what its answer says.

Answers are JSON in which an empty table is `{}`: Lua cannot tell an empty list from an empty map. In an object that
goes back to where it came from they are what they were there, and everywhere else they are left out.

Karmada: pkg/resourceinterpreter/customized/declarative; same, held by the recorded suite `lua`.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import LabelSelector, Manifest, ReadOnlyManifest
from kubeapi.quantity import canonical_quantity
from kubeapi.status import Problem
from leeward.api.interpreter_config import DependentObjectReference, LuaScript, ResourceInterpreterCustomization
from leeward.api.rules.texts import label_value_fault, qualified_name_fault
from leeward.api.work import Component, ComponentReplicaRequirements, ReplicaRequirements
from leeward.core.interpreter.interpret import ReplicaInterpretation
from leeward.core.interpreter.rules import InterpretationError

R = TypeVar("R", bound=ComponentReplicaRequirements)
_INT32 = 2**31
_WITH_VALUES = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}


class Operation(StrEnum):
    """Questions that an interpreter can be asked, by Karmada's names."""

    REPLICA = "InterpretReplica"
    COMPONENT = "InterpretComponent"
    REVISE_REPLICA = "ReviseReplica"
    RETAIN = "Retain"
    AGGREGATE_STATUS = "AggregateStatus"
    DEPENDENCY = "InterpretDependency"
    STATUS = "InterpretStatus"
    HEALTH = "InterpretHealth"


FUNCTIONS = {
    Operation.REPLICA: "GetReplicas",
    Operation.COMPONENT: "GetComponents",
    Operation.REVISE_REPLICA: "ReviseReplica",
    Operation.RETAIN: "Retain",
    Operation.AGGREGATE_STATUS: "AggregateStatus",
    Operation.DEPENDENCY: "GetDependencies",
    Operation.STATUS: "ReflectStatus",
    Operation.HEALTH: "InterpretHealth",
}
"""The function of a script that answers."""
FIELDS = {
    Operation.REPLICA: "replicaResource",
    Operation.COMPONENT: "componentResource",
    Operation.REVISE_REPLICA: "replicaRevision",
    Operation.RETAIN: "retention",
    Operation.AGGREGATE_STATUS: "statusAggregation",
    Operation.DEPENDENCY: "dependencyInterpretation",
    Operation.STATUS: "statusReflection",
    Operation.HEALTH: "healthInterpretation",
}
"""The field of `spec.customizations` in which it stands."""


class Script(NamedTuple):
    """A script, and the customization that it is of."""

    customization: str
    text: str


def scripts_for(
    customizations: Iterable[ResourceInterpreterCustomization], api_version: str, kind: str, operation: Operation
) -> list[Script]:
    """Scripts that answer, by name: the first of the kind's that is not empty; of dependencies all of them."""
    ours = [
        each for each in customizations if (each.spec.target.api_version, each.spec.target.kind) == (api_version, kind)
    ]
    found = [
        Script(each.metadata.name, script.lua_script)
        for each in sorted(ours, key=lambda each: each.metadata.name.encode())
        if (script := script_of(each, operation)) is not None and script.lua_script
    ]
    return found if operation is Operation.DEPENDENCY else found[:1]


def script_of(customization: ResourceInterpreterCustomization, operation: Operation) -> LuaScript | None:
    rules = customization.spec.customizations
    return {
        Operation.REPLICA: rules.replica_resource,
        Operation.COMPONENT: rules.component_resource,
        Operation.REVISE_REPLICA: rules.replica_revision,
        Operation.RETAIN: rules.retention,
        Operation.AGGREGATE_STATUS: rules.status_aggregation,
        Operation.DEPENDENCY: rules.dependency_interpretation,
        Operation.STATUS: rules.status_reflection,
        Operation.HEALTH: rules.health_interpretation,
    }[operation]


def duplicate_problems(
    customization: ResourceInterpreterCustomization, others: Iterable[ResourceInterpreterCustomization]
) -> list[Problem]:
    """Two customizations that answer the same question about one kind: only one would ever be asked.

    Of dependencies all are asked. Karmada: pkg/webhook/resourceinterpretercustomization; same.
    """
    target = customization.spec.target
    same = [o for o in others if o.spec.target == target and o.metadata.name != customization.metadata.name]
    return [
        Problem.forbidden(
            f"spec.customizations.{FIELDS[operation]}",
            f"{other.metadata.name} answers this for {target.api_version} {target.kind} already; change that one",
        )
        for other in sorted(same, key=lambda each: each.metadata.name)
        for operation in Operation
        if operation is not Operation.DEPENDENCY and _answers(customization, operation) and _answers(other, operation)
    ]


def _answers(customization: ResourceInterpreterCustomization, operation: Operation) -> bool:
    script = script_of(customization, operation)
    return script is not None and bool(script.lua_script)


def replicas_in(results: Sequence[Any]) -> ReplicaInterpretation:
    """Raises: InterpretationError, as all that read results."""
    count, needs = (*results, None, None)[:2]
    if isinstance(count, bool) or not isinstance(count, int | float):
        raise InterpretationError(f"GetReplicas must return a number, not {_shown(count)}")
    if not -_INT32 <= count < _INT32:
        raise InterpretationError(f"GetReplicas returned {count}, which has more than 32 bits")
    return ReplicaInterpretation(int(count), requirements_in(needs))


def requirements_in(needs: Any) -> ReplicaRequirements | None:
    if needs is None:
        return None
    if not isinstance(needs, dict):
        raise InterpretationError(f"requirements must be a table, not {_shown(needs)}")
    found = _typed(_without_empties(needs), ReplicaRequirements, "requirements")
    return _canonical(found)


def components_in(results: Sequence[Any]) -> tuple[Component, ...]:
    found = results[0] if results else None
    if found is None or found == {}:
        return ()
    if not isinstance(found, list):
        raise InterpretationError(f"GetComponents must return a list, not {_shown(found)}")
    wanted = [each for each in cast("list[Any]", found) if each != {}]
    for each in wanted:
        if not isinstance(each, dict):
            raise InterpretationError(f"a component must be a table, not {_shown(each)}")
    components = [{"replicas": 0, "name": "", **_without_empties(each)} for each in wanted]
    typed = tuple(_typed(each, Component, "components") for each in components)
    return tuple(
        each
        if each.replica_requirements is None
        else msgspec.structs.replace(each, replica_requirements=_canonical(each.replica_requirements))
        for each in typed
    )


def object_in(results: Sequence[Any], function: str, *references: ReadOnlyManifest) -> Manifest:
    """The object, with what is empty in it as it is in the references; without any, what is empty is left out."""
    found = results[0] if results else None
    if not isinstance(found, dict):
        raise InterpretationError(f"{function} must return a table, not {_shown(found)}")
    if not isinstance(cast(Manifest, found).get("kind"), str):
        raise InterpretationError(f"{function} returned an object without kind")
    return _restored(found, references) if references else _without_empties(found)


def status_in(results: Sequence[Any]) -> Any:
    found = results[0] if results else None
    if not isinstance(found, dict | list):
        raise InterpretationError(f"ReflectStatus must return a table, not {_shown(found)}")
    return _without_empties(found)


def health_in(results: Sequence[Any]) -> bool:
    found = results[0] if results else None
    if not isinstance(found, bool):
        raise InterpretationError(f"InterpretHealth must return true or false, not {_shown(found)}")
    return found


def dependencies_in(results: Sequence[Any]) -> list[DependentObjectReference]:
    found = results[0] if results else None
    if found == {}:
        return []
    if not isinstance(found, list):
        raise InterpretationError(f"GetDependencies must return a list, not {_shown(found)}")
    return [_dependency(each) for each in cast("list[Any]", found) if each != {}]


def _dependency(value: Any) -> DependentObjectReference:
    if not isinstance(value, dict):
        raise InterpretationError(f"a dependency must be a table, not {_shown(value)}")
    wire = _without_empties(value)
    for field in ("apiVersion", "kind"):
        if not wire.get(field):
            raise InterpretationError(f"a dependency must have {field}")
    found = _typed(wire, DependentObjectReference, "dependencies")
    if not found.name and found.label_selector is None:
        raise InterpretationError("a dependency must have name or labelSelector")
    if found.label_selector is not None and (fault := _selector_fault(found.label_selector)):
        raise InterpretationError(f"labelSelector of a dependency: {fault}")
    return found


def _selector_fault(selector: LabelSelector) -> str | None:
    """Fault of a label selector; None when there is none."""
    for requirement in selector.match_expressions:
        if requirement.operator not in _WITH_VALUES:
            return f"operator {requirement.operator!r} must be one of {', '.join(_WITH_VALUES)}"
        if bool(requirement.values) != _WITH_VALUES[requirement.operator]:
            return f"operator {requirement.operator} has values, or has none, where it must not"
    keys = [*selector.match_labels, *(each.key for each in selector.match_expressions)]
    values = [*selector.match_labels.values(), *(value for each in selector.match_expressions for value in each.values)]
    faults = [fault for key in keys if (fault := qualified_name_fault(key))]
    wrong = [fault for value in values if (fault := label_value_fault(value))]
    return next(iter([*faults, *wrong]), None)


def _typed(wire: Any, as_type: Any, field: str) -> Any:
    try:
        return from_wire(wire, as_type)
    except DecodeError as error:
        raise InterpretationError(f"{field}: {error}") from error


def _canonical(requirements: R) -> R:
    """The requirements with requests as Kubernetes writes them."""
    request = dict(requirements.resource_request)
    for name, amount in request.items():
        try:
            request[name] = canonical_quantity(amount)
        except ValueError as error:
            raise InterpretationError(f"resourceRequest[{name}]: {error}") from error
    return msgspec.structs.replace(requirements, resource_request=request)


def _without_empties(value: Any) -> Any:
    """Drops empties of one level: a table that holds nothing else becomes empty, and stays."""
    if isinstance(value, dict):
        members = cast(Manifest, value)
        return {key: _without_empties(each) for key, each in members.items() if each != {}}
    if isinstance(value, list):
        return [_without_empties(each) for each in cast("list[Any]", value) if each != {}]
    return value


def _restored(value: Any, references: Sequence[Any]) -> Any:
    """Each empty table as the map or list that is empty at its place in a reference; of other places it goes."""
    if isinstance(value, dict):
        members = cast(Manifest, value)
        below = {key: [each[key] for each in _mappings(references) if key in each] for key in members}
        empty = {key: _empty_in(below[key]) for key, each in members.items() if each == {}}
        return {
            key: empty[key] if key in empty else _restored(each, below[key])
            for key, each in members.items()
            if empty.get(key, each) is not None
        }
    if isinstance(value, list):
        below_list = [item for each in references if isinstance(each, list) for item in cast("list[Any]", each)]
        kept = [
            _empty_in(below_list) if each == {} else _restored(each, below_list) for each in cast("list[Any]", value)
        ]
        return [each for each in kept if each is not None]
    return value


def _mappings(references: Sequence[Any]) -> list[Manifest]:
    """Indexes of lists are no part of a place: what one item has, any may have."""
    return [cast(Manifest, each) for each in references if isinstance(each, dict)]


def _empty_in(references: Sequence[Any]) -> Any:
    if {} in references:
        return {}
    return [] if [] in references else None


def _shown(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
