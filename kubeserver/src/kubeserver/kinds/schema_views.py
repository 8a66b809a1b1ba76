"""Views of custom objects that were stored under other schemas than those that hold now.

    what is stored ▸ pruned and defaulted by the schema of its own version ▸ pruned by that of the version asked for

What is stored stays as it is until somebody writes the object. Its metadata is left alone.

Kubernetes: the codec of apiextensions-apiserver; the same, also that defaults are those of the stored version.
"""

from functools import lru_cache

from kubeapi import codec
from kubeserver.kinds.kind import Schema

MOST_FORMS = 512


class PairOfSchemas:
    """A `Form`: from the schema of a stored version to that of the version asked for."""

    def __init__(self, stored: Schema, asked: Schema) -> None:
        self._stored = stored
        self._asked = asked

    def show(self, value: bytes) -> bytes:
        manifest = codec.decode_manifest(value)
        self._stored.prune(manifest)
        self._stored.default(manifest)
        if self._asked is not self._stored:
            self._asked.prune(manifest)
        shown = codec.encode(manifest)
        return value if shown == value else shown


@lru_cache(maxsize=MOST_FORMS)
def form_of(stored: Schema, asked: Schema) -> PairOfSchemas:
    """Form for a pair of schemas, always the same for the same ones."""
    return PairOfSchemas(stored, asked)
