"""Defaults of a schema: what is put into objects must fit the schema itself.

Kubernetes: apiextensions-apiserver/pkg/apiserver/schema/defaulting; the same, but for defaults inside of metadata.
"""

import copy

from kubeapi.field import Node, Problems
from kubeserver.apiextensions.checks import below, check
from kubeserver.apiextensions.node import compile_schema
from kubeserver.apiextensions.schema import prune_value

_TYPE_FIELDS = ("apiVersion", "kind", "metadata")


def default_problems(schema: Node, *, root: bool = True) -> Problems:
    default = schema["default"]
    if default.is_set:
        compiled = compile_schema(schema.mapping)
        pruned = copy.deepcopy(default.value)
        prune_value(compiled, pruned)
        if pruned != default.value:
            yield default.invalid("must not have unknown fields")
        yield from below(default.path, check(compiled, default.value))
    if schema["items"].mapping:
        yield from default_problems(schema["items"], root=False)
    for name, field in schema["properties"].entries():
        if not (name in _TYPE_FIELDS and (root or schema["x-kubernetes-embedded-resource"].value)):
            yield from default_problems(field, root=False)
