"""Descriptions of fields, as `kubectl explain` and the schemas show them: `descriptions.txt`, by struct and name on the
wire. They stand apart from the structs, which are read far more often than they are explained to users.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

ANY_OBJECT = "*"


@cache
def descriptions() -> Mapping[str, str]:
    """Descriptions by `Struct.field`; those of fields that every object has by `*.field`."""
    lines = resources.files("leeward.api").joinpath("descriptions.txt").read_text(encoding="utf-8").splitlines()
    return {name: text for name, _, text in (line.partition(": ") for line in lines)}


def description_of(struct: type[Any], field: str) -> str:
    """The description of a field, which the struct may have from its base; empty where there is none."""
    found, names = descriptions(), (*(each.__name__ for each in struct.__mro__), ANY_OBJECT)
    return next((text for name in names if (text := found.get(f"{name}.{field}"))), "")
