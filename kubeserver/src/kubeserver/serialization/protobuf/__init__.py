"""Reads the protobuf bodies that typed clients send, kubectl's imperative commands among them (`kubectl create job`).

A body is an envelope that names the kind, around a message without field names; the tables of `kinds` give the names
back. Answers about objects are JSON wherever the client reads that, too, as every client that sends protobuf does; who
wants nothing but protobuf gets it (`writing.py`). The OpenAPI document of version 2 has its own form (`openapi.py`).
"""

from typing import Any

from kubeapi.meta import Manifest
from kubeapi.protobuf_wire import bytes_field, fields, integer_field, message_of, text_field, text_of
from kubeserver.serialization.protobuf.reading import UnknownMessage, read_struct
from kubeserver.serialization.protobuf.writing import Unwritable, write_struct
from kubeserver.structures.builtin import structure_of, structure_of_kind
from kubeserver.structures.numbers import numbers_of
from kubeserver.structures.structure import Structure
from kubeserver.values import entries, section

__all__ = ("MEDIA_TYPE", "UnknownMessage", "Unwritable", "parse_protobuf", "render_protobuf")

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_FOREIGN = "provided data does not appear to be a protobuf message"


def parse_protobuf(body: bytes) -> Manifest:
    """Raises: ValueError for bytes that are no envelope; UnknownMessage for what only JSON can say here."""
    if not body.startswith(_MAGIC):
        raise ValueError(f"{_FOREIGN}, expected prefix [107 56 115 0]")
    envelope = dict(fields(body[len(_MAGIC) :]))
    type_meta = {number: text_of(value) for number, value in fields(message_of(envelope.get(1, b"")))}
    api_version, kind = type_meta.get(1, ""), type_meta.get(2, "")
    structure = _structure(api_version, kind)
    if structure is None:
        raise UnknownMessage(f"{kind} in {api_version} is read as JSON or YAML only")
    message = read_struct(structure, message_of(envelope.get(2, b"")), kind)
    return {"apiVersion": api_version, "kind": kind, **message}


def render_protobuf(manifest: Manifest) -> bytes:
    """An object, or a list of them, in its envelope. Raises: Unwritable."""
    api_version, kind = manifest.get("apiVersion", ""), manifest.get("kind", "")
    structure = _structure(api_version, kind)
    if structure is not None:
        message = write_struct(structure, manifest)
    else:
        message = _list_message(_structure(api_version, kind.removesuffix("List")), manifest)
    type_meta = text_field(1, api_version) + text_field(2, kind)
    return _MAGIC + bytes_field(1, type_meta) + bytes_field(2, message) + text_field(3, "") + text_field(4, "")


def _list_message(item: Structure | None, manifest: Manifest) -> bytes:
    if item is None or "items" not in manifest:
        raise Unwritable(f"{manifest.get('kind')} is written as JSON or YAML only")
    message = bytes_field(1, _list_meta(section(manifest, "metadata")))
    return message + b"".join(bytes_field(2, write_struct(item, value)) for value in entries(manifest, "items"))


def _list_meta(metadata: dict[str, Any]) -> bytes:
    message = text_field(2, metadata.get("resourceVersion", "")) + text_field(3, metadata.get("continue", ""))
    remaining = metadata.get("remainingItemCount")
    return message if remaining is None else message + integer_field(4, remaining)


def _structure(api_version: str, kind: str) -> Structure | None:
    """DeleteOptions are sent in every group."""
    group, _, version = api_version.rpartition("/")
    found = structure_of(kind) if kind == "DeleteOptions" else structure_of_kind(group, version, kind)
    return found if found is not None and numbers_of(found.type) else None
