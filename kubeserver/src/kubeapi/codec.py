"""Bytes to objects and back: JSON for the wire, YAML for files.

YAML from users is bounded (`yaml_reading.py`): a document that grows too large by its aliases, or is nested too deeply,
is refused, not expanded. The library that reads it is imported by who first needs it: a program that reads JSON alone
starts sooner.
"""

import re
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec

from kubeapi.meta import Manifest, ReadOnlyManifest

T = TypeVar("T")

_encoder = msgspec.json.Encoder()
_canonical_encoder = msgspec.json.Encoder(order="sorted")
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_TOKEN = re.compile(rb'"(metadata|managedFields)"\s*:\s*([{\[])|"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]')
_MOST_LEVELS = 200
"""Levels of `managedFields` that are read in any case; those that Kubernetes writes have as many as the object."""

Raw = msgspec.Raw
"""JSON text inside of a value, which is written as it is."""

DecodeError = msgspec.MsgspecError
"""Error that the decoders raise: bytes that are not JSON, or JSON that is not of the type."""


def encode(value: object) -> bytes:
    """Compact JSON."""
    return _encoder.encode(value)


def canonical(value: object) -> bytes:
    """Compact JSON with sorted keys: equal values give equal bytes."""
    return _canonical_encoder.encode(value)


def decode(data: bytes, as_type: type[T]) -> T:
    """Reads JSON as `as_type`. Raises: DecodeError."""
    decoder = _decoders.get(as_type)
    if decoder is None:
        decoder = _decoders[as_type] = msgspec.json.Decoder(as_type)
    try:
        return decoder.decode(data)
    except RecursionError:
        pass
    try:
        return decoder.decode(_without_deep_managed_fields(data))
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error


def _without_deep_managed_fields(data: bytes) -> bytes:
    """The JSON without the `managedFields` that are nested beyond reason. A real API server takes 10,000 levels of
    whoever may write an object, in a list that could otherwise not be read at all."""
    parts, kept_to = list[bytes](), 0
    depth = metadata = begun = since = deepest = 0
    for token in _TOKEN.finditer(data):
        opened = token[2] or token[0]
        if opened in (b"{", b"["):
            depth += 1
            deepest = max(deepest, depth)
            if token[1] == b"metadata" and not begun:
                metadata = depth
            elif token[1] == b"managedFields" and depth == metadata + 1 and not begun:
                begun, since, deepest = depth, token.start(2), depth
        elif opened in (b"}", b"]"):
            if depth == begun and deepest - begun > _MOST_LEVELS:
                parts += data[kept_to:since], b"[]"
                kept_to = token.end()
            begun, metadata = (0 if depth == place else place for place in (begun, metadata))
            depth -= 1
    return b"".join((*parts, data[kept_to:]))


def decode_manifest(data: bytes) -> Manifest:
    """Reads one JSON object. Raises: DecodeError."""
    return decode(data, Manifest)


def decode_any(data: bytes) -> Any:
    """Reads JSON as plain values. Raises: DecodeError."""
    return decode(data, object)


def copy_manifest(manifest: ReadOnlyManifest) -> Manifest:
    """A deep copy of plain JSON values, ten times as fast as `copy.deepcopy`."""
    return msgspec.to_builtins(manifest if isinstance(manifest, dict) else dict(manifest))


def to_wire(value: object) -> Any:
    """A struct (or tuple of structs) as plain JSON values, for use inside a patch or a manifest."""
    return msgspec.json.decode(_encoder.encode(value))


def from_wire(value: object, as_type: type[T]) -> T:
    """Plain JSON values as a struct. Raises: DecodeError."""
    return msgspec.convert(value, as_type)


def parse_yaml(text: str | bytes) -> Iterator[Manifest]:
    """The mappings of a YAML stream; empty documents are skipped.

    Raises: ValueError when the text is not YAML, a document is no mapping, or it breaks a limit.
    """
    for document in _documents(text):
        if document is not None:
            yield _as_manifest(document)


def parse_first_yaml(text: str | bytes) -> Any:
    """The first document of a YAML stream, whatever it is; None where there is none. Raises: ValueError."""
    return next(_documents(text), None)


def parse_yaml_documents(text: str) -> list[Any]:
    """All documents of a YAML stream, whatever they are. Raises: ValueError."""
    return list(_documents(text))


def render_yaml(value: object) -> str:
    from kubeapi.yaml_writing import render_yaml_document

    return render_yaml_document(to_wire(value))


def _documents(text: str | bytes) -> Iterator[Any]:
    """Raises: ValueError when it is not YAML, or breaks a limit."""
    from kubeapi.yaml_reading import load_documents

    return load_documents(text)


def _as_manifest(document: object) -> Manifest:
    if not isinstance(document, dict):
        raise ValueError(f"a YAML document is a {type(document).__name__}, not a mapping")
    return cast(Manifest, document)
