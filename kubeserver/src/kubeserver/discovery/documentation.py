"""Documentation of types by Kubernetes' own documents: the text of each, that of its fields, and which must be given.

Read from the source of the library `lightkube-models`, which is made from the OpenAPI documents of the release that is
served here. Its modules are not run, and only read when somebody asks for a document.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

_LIBRARY = "lightkube.models"
_PARAMETERS = "**parameters**"
_PARAMETER = re.compile(r"^\* \*\*(\w+)\*\* ``[^`]*`` - ", re.MULTILINE)


class Documentation(NamedTuple):
    """Documentation of one type. `fields` are by their name in JSON."""

    text: str = ""
    fields: Mapping[str, str] = {}
    required: tuple[str, ...] = ()


def documentation_of(name: str) -> Documentation:
    """`name` as in OpenAPI: `io.k8s.api.apps.v1.Deployment`. Empty for a type that is not documented."""
    package, _, type_name = name.rpartition(".")
    return _module("_".join(package.split(".")[-2:])).get(type_name, Documentation())


@cache
def _module(name: str) -> Mapping[str, Documentation]:
    """Documentation by the name of the type; empty for a group and version that the library does not have."""
    file = resources.files(_LIBRARY) / f"{name}.py"
    if not file.is_file():
        return {}
    body = ast.parse(file.read_text()).body
    return {node.name: _documentation(node) for node in body if isinstance(node, ast.ClassDef)}


def _documentation(node: ast.ClassDef) -> Documentation:
    text, _, parameters = (ast.get_docstring(node) or "").partition(_PARAMETERS)
    _, *described = _PARAMETER.split(re.sub(r"^ +", "", parameters, flags=re.MULTILINE))
    texts = dict(zip(described[::2], map(_one_line, described[1::2]), strict=True))
    fields = list(_fields(node))
    return Documentation(
        text=_one_line(text),
        fields={name: texts.get(attribute, "") for attribute, name, _ in fields},
        required=tuple(sorted(name for _, name, optional in fields if not optional)),
    )


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str, bool]]:
    """The attributes of the class, their names in JSON, and whether they may be left out."""
    for statement in node.body:
        match statement:
            case ast.AnnAssign(
                target=ast.Name(id=attribute), annotation=ast.Constant(value=str(type_text)), value=value
            ):
                yield attribute, _json_name(value) or attribute, type_text.startswith("Optional[")
            case _:
                pass


def _json_name(value: ast.expr | None) -> str | None:
    """Name that `field(metadata={"json": ...})` gives, for one that Python cannot have."""
    match value:
        case ast.Call(keywords=[ast.keyword(arg="metadata", value=metadata), *_]):
            names: dict[str, Any] = ast.literal_eval(metadata)
            return names["json"]
        case _:
            return None


def _one_line(text: str) -> str:
    return " ".join(text.split())
