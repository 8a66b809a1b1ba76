"""The conversation with a webhook: a ConversionReview goes out with objects, and comes back with what became of them.

A webhook may change everything but who an object is: of its metadata only labels and annotations are taken over.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeapi.untrusted import mapping_in
from kubeserver.kinds.label_selectors import label_problems
from kubeserver.kinds.metadata import annotation_problems

GROUP, KIND = "apiextensions.k8s.io", "ConversionReview"
_IDENTITY = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
_FREE: Mapping[str, Callable[[Mapping[str, str], str], Iterable[Problem]]] = {
    "labels": label_problems,
    "annotations": annotation_problems,
}


class Misconverted(Exception):
    """Answer of a webhook that is none to the question; the message goes on where the webhook is named."""


class _Place(NamedTuple):
    """Words in which a fault of one object is told: of its type, of who it is, and of its labels and annotations."""

    type: str
    identity: str
    metadata: str


_ALONE = _Place("returned invalid object at index 0", "returned invalid object", "returned invalid metadata")


def _among(index: int) -> _Place:
    start = f"returned invalid converted object at index {index}"
    return _Place(start, start, f"returned invalid metadata in object at index {index}")


class _Wire(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """Read leniently: null is the same as absent."""


class _Result(_Wire, frozen=True):
    status: str = ""
    message: str = ""


class _Response(_Wire, frozen=True):
    uid: str | None = None
    converted_objects: list[msgspec.Raw] | None = None
    result: _Result | None = None


class _Review(_Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    response: _Response | None = None


def render_review(values: Sequence[bytes], target: str, uid: str, version: str) -> bytes:
    """Asks for the objects in the apiVersion `target`, as the `version` of ConversionReview."""
    objects = [msgspec.Raw(value) for value in values]
    request = {"uid": uid, "desiredAPIVersion": target, "objects": objects}
    return codec.encode({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request})


def read_review(body: bytes, values: Sequence[bytes], target: str, uid: str, version: str) -> list[bytes]:
    """The objects that became of `values`, with their metadata put back. Raises: Misconverted."""
    converted = _converted_objects(body, uid, version)
    if len(converted) != len(values):
        raise Misconverted(f"returned {len(converted)} objects, expected {len(values)}")
    places = [_ALONE] if len(values) == 1 else [_among(index) for index in range(len(values))]
    return [_checked(*each, target) for each in zip(values, converted, places, strict=True)]


def type_of(value: bytes) -> str:
    """Name that Kubernetes has for the type of an object."""
    manifest = codec.decode_manifest(value)
    return f"{manifest['apiVersion']}, Kind={manifest['kind']}"


def _converted_objects(body: bytes, uid: str, version: str) -> list[msgspec.Raw]:
    try:
        review = codec.decode(body, _Review)
    except codec.DecodeError as error:
        raise Misconverted(f"failed: the answer is no {KIND}: {error}") from error
    if version == "v1" and (review.api_version, review.kind) != (f"{GROUP}/v1", KIND):
        got = f"{review.api_version}, Kind={review.kind}"
        raise Misconverted(f"failed: expected webhook response of {GROUP}/v1, Kind={KIND}, got {got}")
    response = review.response
    if response is None:
        raise Misconverted("failed: no response provided")
    if version == "v1" and response.uid != uid:
        raise Misconverted(f'failed: expected response.uid="{uid}", got "{response.uid or ""}"')
    result = response.result or _Result()
    if result.status != "Success":
        why = result.message or f"response.result.status was '{result.status}', not 'Success'"
        raise Misconverted(f"failed: {why}")
    return response.converted_objects or []


def _checked(value: bytes, made: msgspec.Raw, place: _Place, target: str) -> bytes:
    before = codec.decode_manifest(value)
    try:
        after = codec.decode_manifest(bytes(made))
    except codec.DecodeError as error:
        raise Misconverted(f"{place.type}: {error}") from error
    for field, name, expected in (("apiVersion", "groupVersion", target), ("kind", "kind", before["kind"])):
        if not is_equal(after.get(field), expected):
            got = after.get(field, "")
            raise Misconverted(f"{place.type}: invalid {name} (expected {expected}, received {got})")
    metadata = _metadata(before["metadata"], mapping_in(after, "metadata"), place)
    rest = {key: item for key, item in after.items() if key not in ("kind", "apiVersion", "metadata")}
    return codec.encode({"kind": after["kind"], "apiVersion": target, "metadata": metadata, **rest})


def _metadata(before: ReadOnlyManifest, after: ReadOnlyManifest, place: _Place) -> Manifest:
    """Metadata of the object, with the labels and annotations of what became of it."""
    for field, name in _IDENTITY:
        was, became = before.get(field, ""), after.get(field, "")
        if not is_equal(was, became):
            raise Misconverted(f"{place.identity}: must have the same {name}: {was} != {became}")
    kept = {key: item for key, item in before.items() if key not in _FREE}
    free = {field: _texts(field, before, after, place) for field in _FREE if after.get(field)}
    return {**kept, **free}


def _texts(field: str, before: ReadOnlyManifest, after: ReadOnlyManifest, place: _Place) -> Manifest:
    """The labels, or the annotations. Raises: Misconverted for such as no object may have."""
    texts = mapping_in(after, field)
    if not texts or not all(isinstance(text, str) for text in texts.values()):
        raise Misconverted(f"{place.metadata}: metadata.{field} must be a map of strings in converted object")
    if not is_equal(texts, before.get(field)) and (problems := list(_FREE[field](texts, f"metadata.{field}"))):
        raise Misconverted(f"{place.metadata}: {', '.join(map(str, problems))}")
    return texts
