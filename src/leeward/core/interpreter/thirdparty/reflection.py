"""Reflection of a member object's status: the fields that a kind names, and its generations."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import mapping_at, text_at, value_at
from leeward.api.names import TEMPLATE_GENERATION_ANNOTATION
from leeward.core.interpreter.rules import Status


def reflected(manifest: ReadOnlyManifest, names: Sequence[str], defaults: Mapping[str, Any] | None = None) -> Status:
    """The named fields that the status has; `defaults` are for those that it has not."""
    if not isinstance(manifest.get("status"), dict):
        return {}
    status = mapping_at(manifest, "status")
    return {**(defaults or {}), **{name: value for name in names if (value := status.get(name)) is not None}}


def reflected_with_generations(manifest: ReadOnlyManifest, names: Sequence[str]) -> Status:
    """Status as `reflected`, with the object's generation and that of the template which it was made from.

    Where there is no status yet, nothing is told."""
    if not isinstance(manifest.get("status"), dict):
        return {}
    own = value_at(manifest, "metadata", "generation")
    made_from = template_generation(manifest)
    generations = {"generation": own, "resourceTemplateGeneration": made_from}
    return {**{name: value for name, value in generations.items() if value is not None}, **reflected(manifest, names)}


def template_generation(manifest: ReadOnlyManifest) -> int | None:
    """Generation of the template that a member's object was made from; None where the object does not tell it."""
    text = text_at(manifest, "metadata", "annotations", TEMPLATE_GENERATION_ANNOTATION)
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(2**63)) else None
