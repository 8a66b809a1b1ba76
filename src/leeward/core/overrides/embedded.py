"""FieldOverriders: changes of a JSON or YAML document that a field of the manifest holds as text.

Karmada: pkg/util/overridemanager; same. Differs: a text of more than one YAML document is refused, where Karmada would
keep the first and lose the others. Neither JSON nor YAML being given leaves the text as it is, where Karmada empties it
(admission refuses that). YAML keeps its comments, order and quotes where a place can be changed alone; Karmada writes
all of it anew.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.json_document import Document, parse_path, parse_pointer
from kubeapi.yaml_editing import with_value, without_value
from kubeapi.yaml_writing import render_sorted_yaml
from leeward.api.override import FieldOverrider, FieldPatchOperation
from leeward.core.overrides.plaintext import patch_document

MOST_YAML_CHARACTERS: Final = 64 * 1024
"""Reading and writing as much takes a fifth of a second, in which the process does nothing else."""
REMEMBERED: Final = 32
"""Number of changed YAML texts that are kept: they are the same in most clusters."""


def override_field(document: Document, overrider: FieldOverrider) -> None:
    """Raises: ValueError when there is no such text, or it cannot be changed so."""
    path = parse_pointer(overrider.field_path)
    text: Any = document.find(path)
    if not isinstance(text, str):
        raise ValueError(f"{overrider.field_path} is no text")
    if overrider.yaml:
        document.replace(path, patched_yaml(text, codec.encode(overrider.yaml)))
    elif overrider.json:
        document.replace(path, _patched_json(text, overrider.json))


def _patched_json(text: str, operations: Sequence[FieldPatchOperation]) -> str:
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_as_written, parse_float=_as_written)
    except ValueError as error:
        raise ValueError(f"the text is no JSON: {error}") from None
    return codec.encode(_patched(value, operations)).decode()


@lru_cache(REMEMBERED)
def patched_yaml(text: str, operations: bytes) -> str:
    """`operations` is their JSON."""
    if len(text) > MOST_YAML_CHARACTERS:
        raise ValueError(
            f"the text is more than {MOST_YAML_CHARACTERS} characters of YAML; have it shorter, or in JSON"
        )
    documents = codec.parse_yaml_documents(text)
    if len(documents) > 1:
        raise ValueError(f"the text has {len(documents)} YAML documents, and can be changed only as one")
    value = documents[0] if documents else None
    steps = codec.decode(operations, tuple[FieldPatchOperation, ...])
    patched = _patched(value, steps)
    is_as_karmada_writes = render_sorted_yaml(value) == text
    return (not is_as_karmada_writes and _edited_yaml(text, steps, patched)) or render_sorted_yaml(patched)


def _edited_yaml(text: str, operations: Sequence[FieldPatchOperation], wanted: Any) -> str:
    """The text with nothing else changed; empty where that cannot be, or says something else than is wanted."""
    try:
        for operation in operations:
            path = parse_path(operation.sub_path)
            if operation.operator == "remove":
                text = without_value(text, path)
            else:
                text = with_value(text, path, operation.value, insert=operation.operator == "add")
        return text if is_equal(codec.parse_yaml_documents(text), [wanted]) else ""
    except ValueError:
        return ""


def _patched(value: Any, operations: Sequence[FieldPatchOperation]) -> Any:
    document = Document(value)
    for operation in operations:
        patch_document(document, operation.sub_path, operation.operator, operation.value)
    return document.root


def _as_written(number: str) -> codec.Raw:
    """A number that nobody changes stays as it is written, as in Karmada: one beyond a double, or `1.10`."""
    return codec.Raw(number.encode())


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
