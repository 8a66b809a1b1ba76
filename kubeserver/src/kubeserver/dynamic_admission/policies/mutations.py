"""Mutations of an object: an apply configuration that is merged into it, or a JSON patch.

Pure. Kubernetes: admission/plugin/policy/mutating/patch; the same rules and the same words.
"""

from collections.abc import Iterator
from typing import Any, cast

from kubeapi import jsonpatch
from kubeapi.meta import Manifest
from kubeserver.cel.objects import OBJECT, PATCH, Unfitting, name_of, read_object, with_maps
from kubeserver.dynamic_admission.policies.configuration import Mutation
from kubeserver.dynamic_admission.policies.evaluation import Expressions, Failed
from kubeserver.patch.apply.checking import render_schema_errors, schema_errors
from kubeserver.patch.apply.typed import merge
from kubeserver.structures.structure import ANY, Structure

_FIELDS = ("op", "path", "from", "value")


def mutated(mutation: Mutation, expressions: Expressions, structure: Structure, seen: Manifest) -> Any:
    """`seen`, of `structure`, after the mutation. Raises: Failed."""
    try:
        if mutation.json_patch is not None:
            return _patched(expressions.evaluate(with_maps(mutation.json_patch.expression)), seen)
        assert mutation.apply_configuration is not None, "a mutation has one of both"
        return _merged(expressions.evaluate(with_maps(mutation.apply_configuration.expression)), structure, seen)
    except Unfitting as error:
        raise Failed(str(error)) from error


def _merged(made: Any, structure: Structure, seen: Manifest) -> Manifest:
    if name_of(made) != OBJECT:
        raise Failed(f"must evaluate to {OBJECT}")
    config = {**read_object(made), "apiVersion": seen["apiVersion"], "kind": seen["kind"]}
    start = "error applying patch:"
    if found := schema_errors(structure, config):
        raise Failed(f"{start} failed to convert patch object to typed object: {render_schema_errors(found)}")
    if atoms := ", ".join(_atoms(structure, config, "")):
        said = f"may not mutate atomic arrays, maps or structs: {atoms}"
        raise Failed(f"{start} invalid ApplyConfiguration: {said}")
    return merge(structure, seen, config)


def _atoms(structure: Structure, value: Any, path: str) -> Iterator[str]:
    """Paths at which a value touches what can only be replaced as a whole."""
    if structure.form == "any" or not isinstance(value, dict | list):
        return
    if structure.atomic:
        yield path
    if isinstance(value, list):
        for index, item in enumerate(cast(list[Any], value)):
            yield from _atoms(structure.item, item, f"{path}[{index}]")
    else:
        for name, item in cast(dict[str, Any], value).items():
            yield from _atoms(structure.child(name) or ANY, item, f"{path}.{name}")


def _patched(made: Any, seen: Manifest) -> Any:
    """A `test` that does not hold leaves the object as it is."""
    if not isinstance(made, list):
        raise Failed(f"must evaluate to a list of {PATCH}")
    try:
        return jsonpatch.apply(seen, [_operation(each) for each in cast(list[Any], made)])
    except jsonpatch.Untrue:
        return seen
    except ValueError as error:
        raise Failed(f"JSONPatch: {error}") from error


def _operation(made: Any) -> dict[str, Any]:
    if name_of(made) != PATCH:
        raise Unfitting(f"must evaluate to a list of {PATCH}")
    fields = cast(dict[str, Any], made)
    return {field: read_object(fields[field]) for field in _FIELDS if field in fields}
