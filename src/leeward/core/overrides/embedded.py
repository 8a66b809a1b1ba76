"""FieldOverriders: changes of a JSON or YAML document that a field of the manifest holds as text.

A text is read once for all overriders of a rule that change it, and written once. It pauses between its parts, none of
which takes longer than reading or writing a text of `MOST_YAML_CHARACTERS`.

Karmada: pkg/util/overridemanager; same. Differs: a text of more than one YAML document is refused, where Karmada would
keep the first and lose the others. Neither JSON nor YAML being given leaves the text as it is, where Karmada empties it
(admission refuses that). YAML keeps its comments, order and quotes where a place can be changed alone; Karmada writes
all of it anew.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.json_document import Document, parse_pointer
from kubeapi.yaml_editing import edited
from kubeapi.yaml_writing import render_sorted_yaml
from leeward.api.override import FieldOverrider, FieldPatchOperation
from leeward.core.overrides.effort import CHARACTERS_OF_A_UNIT, Effort, Steps, naming
from leeward.core.overrides.plaintext import patch_document

MOST_YAML_CHARACTERS: Final = 64 * 1024
"""Reading or writing as much takes a tenth of a second, in which the process does nothing else."""
REMEMBERED: Final = 32
"""Number of changed YAML texts that are kept: they are the same in most clusters."""
FIELD: Final = "fieldOverrider"
_READINGS: Final = 4
"""Times that a YAML text is read or written, whatever the number of its changes."""
_ALSO_WRITTEN: Final = re.compile(r"/(?:[+-][0-9]+|0[0-9]+)(?:/|$)")
"""Index of a list that is written in one of several ways."""

Operation = tuple[int, FieldPatchOperation]
"""Operation on a text, with the index of its overrider."""
Changes = list[tuple[int, FieldOverrider]]
"""Overriders of one text, with their indexes."""


def override_fields(overriders: Sequence[FieldOverrider], document: Document, effort: Effort) -> Steps[None]:
    """Carries out the overriders of a rule. Raises: ValueError that names the overrider."""
    for pointer, is_yaml, changes in _by_text(overriders):
        with naming(FIELD, changes[0][0]):
            path = parse_pointer(pointer)
            text: Any = document.find(path)
            if not isinstance(text, str):
                raise ValueError(f"{pointer} is no text")
            operations = [(index, each) for index, overrider in changes for each in overrider.yaml or overrider.json]
            if operations:
                patch = patched_yaml if is_yaml else _patched_json
                document.replace(path, (yield from patch(text, operations, effort)))


def _by_text(overriders: Sequence[FieldOverrider]) -> Iterable[tuple[str, bool, Changes]]:
    """Overriders of each text together, with their indexes; in order where two pointers may lead to one text."""
    groups: list[tuple[str, bool, Changes]] = []
    may_meet = any(_ALSO_WRITTEN.search(each.field_path) for each in overriders)
    known: dict[str, dict[bool, Changes]] = {}
    for index, overrider in enumerate(overriders):
        pointer, is_yaml = overrider.field_path, bool(overrider.yaml)
        group = known.get(pointer, {}).get(is_yaml)
        if group is None or may_meet:
            group = Changes()
            groups.append((pointer, is_yaml, group))
            known[pointer] = {is_yaml: group}
        group.append((index, overrider))
    return groups


def _patched_json(text: str, operations: Sequence[Operation], effort: Effort) -> Steps[str]:
    effort.spend(len(text) // CHARACTERS_OF_A_UNIT + len(operations))
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_as_written, parse_float=_as_written)
    except ValueError as error:
        raise ValueError(f"the text is no JSON: {error}") from None
    yield
    return codec.encode((yield from _patched(value, operations))).decode()


def patched_yaml(text: str, operations: Sequence[Operation], effort: Effort) -> Steps[str]:
    """The text after the operations. One that is remembered is charged, too. Raises: ValueError."""
    changes = codec.encode([each for _, each in operations])
    for long, characters in (("the text is", len(text)), ("changes are", len(changes))):
        if characters > MOST_YAML_CHARACTERS:
            raise ValueError(f"{long} more than {MOST_YAML_CHARACTERS} characters of YAML; have it shorter, or in JSON")
    effort.spend(_READINGS * (len(text) + len(changes)) + len(operations))
    known = _remembered(text, changes)
    if not known:
        known.append((yield from _patched_text(text, operations)))
    return known[0]


@lru_cache(REMEMBERED)
def _remembered(text: str, operations: bytes) -> list[str]:
    """Place for the result, which is empty before it is known."""
    return []


def _patched_text(text: str, operations: Sequence[Operation]) -> Steps[str]:
    documents = codec.parse_yaml_documents(text)
    yield
    if len(documents) > 1:
        raise ValueError(f"the text has {len(documents)} YAML documents, and can be changed only as one")
    value = documents[0] if documents else None
    is_as_karmada_writes = render_sorted_yaml(value) == text
    patched = yield from _patched(value, operations)
    as_it_was = "" if is_as_karmada_writes else (yield from _edited(text, value, patched))
    return as_it_was or render_sorted_yaml(patched)


def _edited(text: str, value: Any, patched: Any) -> Steps[str]:
    """The text with nothing else changed; empty where that cannot be, or says something else than is wanted."""
    try:
        made = yield from edited(text, value, patched)
        yield
        return made if is_equal(codec.parse_yaml_documents(made), [patched]) else ""
    except ValueError:
        return ""


def _patched(value: Any, operations: Sequence[Operation]) -> Steps[Any]:
    document = Document(value)
    for index, operation in operations:
        with naming(FIELD, index):
            patch_document(document, operation.sub_path, operation.operator, operation.value)
        yield
    return document.root


def _as_written(number: str) -> codec.Raw:
    """A number that nobody changes stays as it is written, as in Karmada: one beyond a double, or `1.10`."""
    return codec.Raw(number.encode())


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
