"""The structures of the built-in kinds, read from the tables in `types/`.

    Name: field type, field= type        a struct; `=` marks what is always written; `Name!` is an atom
    string int32 int64 bool double time microtime bytes quantity intstr any
    {type}  {type}!                      a map; an atomic one
    [type]  [type by key,key]  [type set]    an atomic list, one with keys, a set

`kept.txt` lists the fields that stay when they come empty though they are no pointers: those without `omitempty`.

Source of the tables: the fields and the `listType`, `listMapKey`, `mapType` and `structType` marks of Kubernetes' API.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

from kubeserver.structures.numbers import empties_of
from kubeserver.structures.structure import ANY, Structure

_CORE, _META = "io.k8s.api.core.v1", "io.k8s.apimachinery.pkg.apis.meta.v1"
_PACKAGES = {"meta": _META, "core": _CORE, "pods": _CORE, "volumes": _CORE}
_TABLES = ("meta", "core", "pods", "volumes", "workloads", "network", "others", "reviews", "infrastructure")
_FIELD = re.compile(r"(\w+)(=?) (\[[^\]]*\]|\{\{?[^}]*\}\}?!?|\w+)(?:, |$)")
_SCALARS = frozenset(("string", "int32", "int64", "bool", "double", "time", "microtime", "bytes", "quantity", "intstr"))
_PLAIN = frozenset(("string", "int32", "int64", "bool", "double", "bytes"))
_QUALIFIED_NAMES = {
    ("autoscaling", "v1"): "{}V1",
    ("events.k8s.io", "v1"): "New{}",
    ("resource.k8s.io", "v1"): "Dynamic{}",
}
"""Names in the tables of structs whose names others have, too."""
_PUBLISHED = {
    "ConversionClientConfig": "WebhookClientConfig",
    "ConversionServiceReference": "ServiceReference",
    "DriverTokenRequest": "TokenRequest",
    "FlowSubject": "Subject",
    "HorizontalPodAutoscalerSpecV1": "HorizontalPodAutoscalerSpec",
    "HorizontalPodAutoscalerStatusV1": "HorizontalPodAutoscalerStatus",
    "NewEventSeries": "EventSeries",
    "SliceEndpointPort": "EndpointPort",
    "WebhookServiceReference": "ServiceReference",
}
"""Names under which structs are published that are parts of others: their package tells them apart."""
_DEFAULTS = {("ContainerPort", "protocol"): "TCP", ("ServicePort", "protocol"): "TCP"}


@cache
def structure_of(name: str) -> Structure | None:
    """The structure of a struct, by its name in the tables; None for one that is not there."""
    declared = _declared().get(name)
    if declared is None:
        return None
    atomic, text = declared
    structure = Structure("struct", name, atomic=atomic)
    fields = list(_FIELD.findall(text))
    structure.always = tuple(field for field, always, _ in fields if always)
    for field, _, written in fields:
        structure.fields[field] = _parse(written, _DEFAULTS.get((name, field)))
    structure.kept = tuple(_kept().get(name, ()))
    said = {*structure.always, *structure.kept}
    structure.silent = frozenset(field for field in empties_of(name) - said if _can_be_empty(structure, field))
    return structure


def _can_be_empty(structure: Structure, field: str) -> bool:
    declared = structure.fields.get(field)
    return declared is not None and (declared.form in ("list", "map") or declared.type in _PLAIN)


def structure_of_kind(group: str, version: str, kind: str) -> Structure | None:
    """A built-in kind as a whole, with its apiVersion and kind."""
    structure = structure_of(_QUALIFIED_NAMES.get((group, version), "{}").format(kind))
    if structure is not None:
        structure.fields.setdefault("apiVersion", Structure("scalar", "string"))
        structure.fields.setdefault("kind", Structure("scalar", "string"))
    return structure


def package_of(name: str) -> str:
    """The package that a struct is published under; empty where it is that of the kind which has it."""
    return _packages().get(name, "")


def published_name(name: str) -> str:
    """Name of a struct within its package."""
    return _PUBLISHED.get(name, name)


def _parse(written: str, default: str | None = None) -> Structure:
    if written.startswith("["):
        element, _, keys = written[1:-1].partition(" by ")
        is_set = element.endswith(" set")
        of = _parse(element.removesuffix(" set"))
        return Structure(
            "list", element=of, atomic=not keys and not is_set, keys=tuple(k for k in keys.split(",") if k)
        )
    if written.startswith("{"):
        return Structure("map", element=_parse(written.removesuffix("!")[1:-1]), atomic=written.endswith("!"))
    if written in _SCALARS:
        return Structure("scalar", written, default=default)
    if written == "any":
        return ANY
    structure = structure_of(written)
    assert structure is not None, f"types/ has no {written}"
    return structure


@cache
def _declared() -> dict[str, tuple[bool, str]]:
    return {name: (atomic, text) for table in _TABLES for name, atomic, text in _read(table)}


@cache
def _packages() -> dict[str, str]:
    return {name: package for table, package in _PACKAGES.items() for name, _, _ in _read(table)}


@cache
def _kept() -> dict[str, list[str]]:
    return {name: fields.split() for name, _, fields in _read("kept")}


def _read(table: str) -> Iterator[tuple[str, bool, str]]:
    text = resources.files("kubeserver.structures").joinpath("types", f"{table}.txt").read_text()
    for line in text.replace("\n    ", " ").splitlines():
        name, _, fields = line.partition(": ")
        yield name.removesuffix("!"), name.endswith("!"), fields
