"""Negotiation of the form in which a client wants its answer: an object, a Table, or only the metadata; in JSON or in
YAML."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from kubeserver.errors import not_acceptable

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
"""Media type of built-in kinds, and only for who reads nothing else."""
_SPOKEN = (JSON, YAML)
_SAID = (JSON, YAML, PROTOBUF)
STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
"""Media types that a watch can be in, as it is said."""
_ANY = ("", "*/*")
LONGEST_REMEMBERED = 1024
"""Most headers whose form is remembered; clients send one of a few."""
_LOOSE = ("*", "application/*")
"""Understood where objects of custom kinds are asked for; for the others, kube-apiserver's router does not."""

Shape = Literal["object", "table", "partial"]
_SHAPES: dict[str, Shape] = {
    "Table": "table",
    "PartialObjectMetadata": "partial",
    "PartialObjectMetadataList": "partial",
}


@dataclass(frozen=True, slots=True)
class Form:
    """`version` is that of meta.k8s.io, for tables and metadata. `of_list`: only a list can be shown like this."""

    shape: Shape = "object"
    version: str = "v1"
    media_type: str = JSON
    of_list: bool = False


@dataclass(frozen=True, slots=True)
class MediaType:
    """One element of an Accept header."""

    name: str
    parameters: dict[str, str]


def parse_accept(header: str) -> list[MediaType]:
    """The elements in the client's order of preference."""
    elements = [_parse_element(element) for element in header.split(",")]
    return sorted(elements, key=lambda element: -_quality(element))


@lru_cache(maxsize=256)
def negotiate(header: str, *, custom: bool = False) -> Form:
    """The first acceptable form that can be made. Raises: Refused (406)."""
    return _negotiated(header, custom) if len(header) <= LONGEST_REMEMBERED else _chosen(header, custom)


def _chosen(header: str, custom: bool) -> Form:
    elements = parse_accept(header)
    for element in elements:
        form = Form() if custom and element.name in _LOOSE else _form_of(element)
        if form is not None:
            return form
    if not custom and any(element.name == PROTOBUF and "as" not in element.parameters for element in elements):
        return Form(media_type=PROTOBUF)
    raise not_acceptable(_SAID, known=custom or any(element.name in _SAID for element in elements))


_negotiated = lru_cache(maxsize=256)(_chosen)


def _form_of(element: MediaType) -> Form | None:
    if element.name in _ANY:
        return Form()
    if element.name not in _SPOKEN:
        return None
    wanted = element.parameters.get("as")
    if wanted is None:
        return Form(media_type=element.name)
    version = element.parameters.get("v", "")
    shape = _SHAPES.get(wanted)
    if shape is None or element.parameters.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1"):
        return None
    return Form(shape, version, element.name, wanted.endswith("List"))


def _parse_element(text: str) -> MediaType:
    name, *parameters = (part.strip() for part in text.split(";"))
    pairs = (parameter.partition("=") for parameter in parameters)
    return MediaType(name.lower(), {key.strip(): value.strip() for key, _, value in pairs})


def _quality(element: MediaType) -> float:
    try:
        return float(element.parameters.get("q", "1"))
    except ValueError:
        return 0.0
