"""Warnings beside an answer: texts to the client, and annotations in the audit log.

Both belong to the request that is being answered, whoever is at work on it at the moment; so they are bound to its
context, as in Kubernetes, and whoever has something to say needs not be handed a place for it.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

MAX_WARNINGS = 100
"""Most warnings of one answer; what is said beyond is dropped."""

_warnings: ContextVar[list[str] | None] = ContextVar("warnings", default=None)
_annotations: ContextVar[dict[str, str] | None] = ContextVar("annotations", default=None)


def warn(text: str) -> None:
    """Adds a warning to the answer, once."""
    said = _warnings.get()
    if said is not None and text not in said and len(said) < MAX_WARNINGS:
        said.append(text)


def annotate(key: str, value: str) -> None:
    """Adds to the audit event of the request; what is there already stays."""
    written = _annotations.get()
    if written is not None:
        written.setdefault(key, value)


class CollectedWarnings:
    """Warnings that are given within, for one answer: `with CollectedWarnings() as warnings`."""

    __slots__ = ("_token",)

    def __enter__(self) -> list[str]:
        said: list[str] = []
        self._token = _warnings.set(said)
        return said

    def __exit__(self, *raised: object) -> None:
        _warnings.reset(self._token)


@contextmanager
def collected_annotations() -> Generator[dict[str, str]]:
    written: dict[str, str] = {}
    token = _annotations.set(written)
    try:
        yield written
    finally:
        _annotations.reset(token)
