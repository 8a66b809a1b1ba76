"""Customizations at admission: their scripts must be texts of Lua, and answer what no other one does. None is run.

Karmada: pkg/webhook/resourceinterpretercustomization; same.
"""

from collections.abc import Iterable, Iterator
from functools import cache

from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import ReadOnlyManifest
from kubeapi.status import Problem
from leeward.api.interpreter_config import ResourceInterpreterCustomization
from leeward.core.interpreter.scripts import FIELDS, Operation, duplicate_problems, script_of
from leeward.core.interpreter.thirdparty.pod_templates import without_nulls
from leeward.lua.sandbox import Sandbox


def customization_problems(given: ReadOnlyManifest, others: Iterable[ReadOnlyManifest]) -> list[Problem]:
    """`others` are those that exist; unreadable ones among them answer nothing."""
    customization = _read(given)
    if customization is None:
        return []
    readable = [each for other in others if (each := _read(other)) is not None]
    return [*script_problems(customization), *duplicate_problems(customization, readable)]


def _read(manifest: ReadOnlyManifest) -> ResourceInterpreterCustomization | None:
    """None for a value that breaks the schema, of which the API server tells."""
    try:
        return from_wire(without_nulls(manifest), ResourceInterpreterCustomization)
    except DecodeError:
        return None


def script_problems(customization: ResourceInterpreterCustomization) -> Iterator[Problem]:
    for operation in Operation:
        script = script_of(customization, operation)
        if script is not None and (fault := _sandbox().check(script.lua_script)):
            yield Problem.invalid(f"spec.customizations.{FIELDS[operation]}.luaScript", "", fault)


@cache
def _sandbox() -> Sandbox:
    return Sandbox()
