"""Rules of ResourceBinding, ClusterResourceBinding and Work, without the enforcement of quotas.

Karmada: pkg/webhook/resourcebinding.
"""

from collections.abc import Iterable
from typing import Any, cast

from kubeapi.codec import DecodeError, decode_any
from kubeapi.field import Node, Problems
from leeward.api.rules.bounds import placement_bounds_problems

DEPENDENCIES_ANNOTATION = "resourcebinding.karmada.io/dependencies"


def binding_problems(binding: Node, old: Node | None) -> Problems:
    """Problems of a binding; `old` is what an update replaces."""
    stored = Node("", None) if old is None else old["spec"]["placement"]
    yield from placement_bounds_problems(binding["spec"]["placement"], stored)
    yield from _dependencies_problems(binding["metadata"]["annotations"][DEPENDENCIES_ANNOTATION])
    seen: set[str] = set()
    for component in binding["spec"]["components"].items():
        name = component["name"]
        if not name.text:
            yield name.invalid("must not be empty", value="")
        elif name.text in seen:
            yield name.invalid("must differ from the names of the other components")
        seen.add(name.text)


def work_problems(work: Node) -> Problems:
    """Problems of manifests that do not say which object is to be in the cluster."""
    for manifest in work["spec"]["workload"]["manifests"].items():
        for field in (manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"]):
            if not field.text:
                yield field.required("say which object is to be in the cluster")


def _dependencies_problems(annotation: Node) -> Problems:
    if not annotation.text:
        return
    try:
        dependencies: Any = decode_any(annotation.text.encode())
    except DecodeError as error:
        yield annotation.invalid(f"must be JSON: {error}")
        return
    if not isinstance(dependencies, list) or not all(isinstance(d, dict) for d in cast(Iterable[Any], dependencies)):
        yield annotation.invalid("must be a JSON list of objects, each a reference to a dependency")
