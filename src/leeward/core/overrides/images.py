"""Image references, and ImageOverriders: registry, repository and tag of an image, added to, replaced or removed.

A first part counts as the registry only when it has a dot or a colon, or is `localhost`: `library/nginx` has none.

Karmada: pkg/util/imageparser, pkg/util/overridemanager/imageoverride.go; same. Differs: an image with tag and digest
keeps both when its registry or repository changes, and loses the digest with the tag, which Karmada would leave behind.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from kubeapi.json_document import Document, parse_pointer
from kubeapi.meta import Manifest
from leeward.api.override import ImageOverrider, OverrideOperator
from leeward.core.overrides.effort import Effort, units_of

MOST_NAME_CHARACTERS: Final = 255
MOST_IMAGE_CHARACTERS: Final = 1_024
"""Most characters of an image with its tag and its digest, of which a longer one is none."""

_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DOMAIN_COMPONENT = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_COMPONENT}(?:\.{_DOMAIN_COMPONENT})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*)(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?"
)
_ONLY_TAG, _ONLY_DIGEST = re.compile(_TAG), re.compile(_DIGEST)


class Image(NamedTuple):
    """An image reference in its parts; what is not given is empty."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    def __str__(self) -> str:
        name = f"{self.registry}/{self.repository}" if self.registry else self.repository
        return name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


@lru_cache(1_024)
def parse_image(text: str) -> Image:
    """Raises: ValueError when the text is no image reference."""
    found = _REFERENCE.fullmatch(text) if len(text) <= MOST_IMAGE_CHARACTERS else None
    if found is None or len(found["name"]) > MOST_NAME_CHARACTERS:
        raise ValueError(f"{text[:MOST_NAME_CHARACTERS]!r} is no image reference")
    first, slash, rest = found["name"].partition("/")
    has_registry = bool(slash) and (first == "localhost" or "." in first or ":" in first)
    registry, repository = (first, rest) if has_registry else ("", found["name"])
    return Image(registry, repository, found["tag"] or "", found["digest"] or "")


def override_image(text: str, overrider: ImageOverrider) -> str:
    """The image reference after the overrider. Raises: ValueError."""
    image, operator, value = parse_image(text), overrider.operator, overrider.value
    match overrider.component:
        case "Registry":
            return str(Image(_changed(image.registry, operator, value), image.repository, image.tag, image.digest))
        case "Repository":
            return str(Image(image.registry, _changed(image.repository, operator, value), image.tag, image.digest))
        case "Tag":
            return str(_with_tag(image, _changed(image.tag or image.digest, operator, value), operator))


def override_image_of(container: Manifest, overrider: ImageOverrider, effort: Effort) -> None:
    """Changes the image of a container. One without an image is none that could be changed. Raises: ValueError."""
    effort.spend(units_of([overrider.value]))
    container["image"] = _changed_image(container.get("image"), overrider)


def override_image_at(document: Document, overrider: ImageOverrider, effort: Effort) -> None:
    """Changes the image at the path of the predicate. Raises: ValueError."""
    path = parse_pointer(overrider.predicate.path if overrider.predicate else "")
    effort.spend(units_of([overrider.value]))
    document.replace(path, _changed_image(document.find(path), overrider))


def _changed_image(image: object, overrider: ImageOverrider) -> str:
    if not isinstance(image, str):
        raise ValueError("there is no text that were an image")
    return override_image(image, overrider)


def _changed(before: str, operator: OverrideOperator, value: str) -> str:
    match operator:
        case "add":
            return before + value
        case "replace":
            return value
        case "remove":
            return ""


def _with_tag(image: Image, text: str, operator: OverrideOperator) -> Image:
    """The image with this tag or digest; what is neither changes nothing."""
    if operator == "remove":
        return Image(image.registry, image.repository)
    if _ONLY_TAG.fullmatch(text):
        return Image(image.registry, image.repository, tag=text)
    return Image(image.registry, image.repository, digest=text) if _ONLY_DIGEST.fullmatch(text) else image
