"""Reads the protobuf bodies that typed clients send, kubectl's imperative commands among them (`kubectl create job`).

A body is an envelope that names the kind, around a message without field names; the tables of `kinds` give the names
back. Answers about objects are always JSON: every client that sends protobuf reads JSON, too. Only the OpenAPI document
of version 2 is written as protobuf (`openapi.py`).
"""

from leeward.api.meta import Manifest
from leeward.apiserver.kinds.numbers import numbers_of
from leeward.apiserver.kinds.structures import structure_of, structure_of_kind
from leeward.apiserver.protobuf.reading import UnknownMessage, read_struct
from leeward.apiserver.protobuf.wire import fields, message_of, text_of
from leeward.apiserver.structure import Structure

__all__ = ("MEDIA_TYPE", "UnknownMessage", "parse_protobuf")

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


def _structure(api_version: str, kind: str) -> Structure | None:
    """DeleteOptions are sent in every group."""
    group, _, version = api_version.rpartition("/")
    found = structure_of(kind) if kind == "DeleteOptions" else structure_of_kind(group, version, kind)
    return found if found is not None and numbers_of(found.type) else None
