"""FieldOverriders: changes of a JSON or YAML document that a field of the manifest holds as text.

Karmada: pkg/util/overridemanager/fieldoverrider.go; same. Differs: a text of more than one YAML document is refused,
where Karmada would keep the first and lose the others; and neither JSON nor YAML being given leaves the text as it is,
where Karmada empties it (admission refuses that).
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, cast

from kubeapi import codec
from kubeapi.json_document import Document, parse_pointer
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
        document.replace(path, _patched_yaml(text, codec.encode(overrider.yaml)))
    elif overrider.json:
        document.replace(path, _patched_json(text, overrider.json))


def _patched_json(text: str, operations: Sequence[FieldPatchOperation]) -> str:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise ValueError(f"the text is no JSON: {error}") from None
    return json.dumps(_patched(value, operations), separators=(",", ":"), ensure_ascii=False)


@lru_cache(REMEMBERED)
def _patched_yaml(text: str, operations: bytes) -> str:
    """`operations` is their JSON."""
    if len(text) > MOST_YAML_CHARACTERS:
        raise ValueError(
            f"the text is more than {MOST_YAML_CHARACTERS} characters of YAML; have it shorter, or in JSON"
        )
    documents = codec.parse_yaml_documents(text)
    if len(documents) > 1:
        raise ValueError(f"the text has {len(documents)} YAML documents, and can be changed only as one")
    value = _as_json(documents[0] if documents else None)
    return render_sorted_yaml(_patched(value, codec.decode(operations, tuple[FieldPatchOperation, ...])))


def _patched(value: Any, operations: Sequence[FieldPatchOperation]) -> Any:
    document = Document(value)
    for operation in operations:
        patch_document(document, operation.sub_path, operation.operator, operation.value)
    return document.root


def _as_json(value: Any) -> Any:
    """Value with the keys that YAML lets be numbers and the like as text. Raises: ValueError for what JSON has not."""
    if isinstance(value, dict):
        members = cast(dict[Any, Any], value)
        return {key if isinstance(key, str) else json.dumps(key): _as_json(item) for key, item in members.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in cast(list[Any], value)]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"the text has a {type(value).__name__}, which JSON has not")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
