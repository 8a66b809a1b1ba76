"""A short name for the contents of a resource template, so that a change of its status alone is no change."""

import hashlib
from collections.abc import Mapping
from typing import Any

from kubeapi.codec import canonical
from kubeapi.meta import ReadOnlyManifest
from leeward.api.names import TEMPLATE_CONTENTS_ANNOTATION, TEMPLATE_DIGEST_ANNOTATION

_VOLATILE = ("resourceVersion", "managedFields", "generation")


_KARMADA, _OURS = "karmada.io", "leeward.dev/"
_OF_USERS = ("namespace.karmada.io/skip-auto-propagation",)


def template_digest(template: ReadOnlyManifest) -> str:
    """16 hexadecimal characters that change with everything but status and bookkeeping."""
    metadata = {key: value for key, value in template["metadata"].items() if key not in _VOLATILE}
    return _short({**_contents(template), "metadata": metadata})


def contents_digest(template: ReadOnlyManifest) -> str:
    """Digest as `template_digest`, without any metadata: it changes with the contents alone."""
    return _short(_contents(template))


def digest_annotations(template: ReadOnlyManifest, noted: str | None) -> dict[str, str]:
    """Annotations of a binding by which a change of its template is known; `noted` is the digest that it has.

    The digest of the contents comes with another digest, so that a binding is not written for it alone."""
    digest = template_digest(template)
    contents = {} if noted == digest else {TEMPLATE_CONTENTS_ANNOTATION: contents_digest(template)}
    return {TEMPLATE_DIGEST_ANNOTATION: digest, **contents}


def user_digest(template: ReadOnlyManifest) -> str:
    """Digest as `template_digest`, without the labels and annotations that control planes write: it changes when a user
    changes the template. Karmada: pkg/util/eventfilter (`ResourceChangeByKarmada`); same."""
    metadata: dict[str, Any] = dict(template["metadata"])
    for field in ("labels", "annotations"):
        marks: Mapping[str, Any] = metadata.pop(field, None) or {}
        metadata[field] = {key: value for key, value in marks.items() if not _is_of_control_planes(key)}
    return template_digest({**template, "metadata": metadata})


def _contents(template: ReadOnlyManifest) -> dict[str, Any]:
    return {key: value for key, value in template.items() if key not in ("status", "metadata")}


def _short(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(content)).hexdigest()[:16]


def _is_of_control_planes(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    is_karmadas = bool(slash) and (domain == _KARMADA or domain.endswith(f".{_KARMADA}")) and key not in _OF_USERS
    return is_karmadas or key.startswith(_OURS)
