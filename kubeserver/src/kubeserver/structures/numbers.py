"""The numbers of the fields of built-in kinds in protobuf, read from `types/numbers.txt`.

    Name: field field 7:field    a struct; numbers count up from 1, and a written one is where they go on
    field?                       says something even when it is empty: a pointer in Kubernetes' own source
    =Name                        a message whose fields belong to this struct, as in `Probe: =ProbeHandler ...`

Source: the `protobuf` tags of Kubernetes' API. A field that has no number here is read as JSON or YAML only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Numbered:
    """Meaning of a number. `name` is that of the field, or of the struct that is `embedded`."""

    name: str
    optional: bool = False
    embedded: bool = False


@cache
def numbers_of(struct: str) -> Mapping[int, Numbered]:
    """Empty for a struct that is never read from protobuf."""
    numbers: dict[int, Numbered] = {}
    number = 0
    for written in _written().get(struct, ()):
        at, _, name = written.rpartition(":")
        number = int(at) if at else number + 1
        numbers[number] = Numbered(name.strip("=?"), name.endswith("?"), name.startswith("="))
    return numbers


@cache
def empties_of(struct: str) -> frozenset[str]:
    """The fields of a struct that say nothing when they are empty."""
    empties: set[str] = set()
    for numbered in numbers_of(struct).values():
        if numbered.embedded:
            empties |= empties_of(numbered.name)
        elif not numbered.optional:
            empties.add(numbered.name)
    return frozenset(empties)


@cache
def _written() -> Mapping[str, list[str]]:
    text = resources.files("kubeserver.structures").joinpath("types", "numbers.txt").read_text()
    lines = text.replace("\n    ", " ").splitlines()
    return {name: fields.split() for name, _, fields in (line.partition(":") for line in lines)}
