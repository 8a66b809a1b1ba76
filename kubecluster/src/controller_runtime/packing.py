"""Objects of caches that are kept as bytes while nobody reads them, and which of them those are.

A manifest is kept as JSON; of a type with manifests inside only these may be (`Packing.rest`). Objects of one kind are
much alike: each is compressed by its text in common with one of the same cache (zlib's preset dictionary). The caches
of all kinds and servers of a process share one `RecentObjects`: what is kept unpacked has a bound that does not
grow with the number of objects.
"""

import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from controller_runtime.identity import version_of
from kubeapi import codec
from kubeapi.meta import Manifest

T = TypeVar("T")

MAX_UNPACKED = 1024
"""Number of objects that are kept as they were read: some 12 MiB of Deployments."""

MOST_EXAMPLE = 8 * 1024
"""Bytes of the example that others are compressed by. It is kept for as long as the cache."""

MOST_COMPRESSED = 64 * 1024
"""Bytes of a body that takes less than a millisecond to compress; a longer one stays as it is."""


@dataclass(frozen=True, slots=True)
class Packing(Generic[T]):
    """`encode` gives the bytes of an object, `rest` what stays of it beside them, and `decode` the object of both."""

    encode: Callable[[T], bytes]
    rest: Callable[[T], T | None]
    decode: Callable[[bytes, Any], T]


class SimilarBodies:
    """Compresses bodies that are much alike: the first one is the example for the others."""

    def __init__(self) -> None:
        self._example = b""

    def compressed(self, body: bytes) -> bytes:
        self._example = self._example or body[:MOST_EXAMPLE]
        compressing = zlib.compressobj(int(len(body) <= MOST_COMPRESSED), zdict=self._example)
        return compressing.compress(body) + compressing.flush()

    def restored(self, compressed: bytes) -> bytes:
        return zlib.decompressobj(zdict=self._example).decompress(compressed)


class CachedObject(Generic[T]):
    """One state of an object: the same entry is the same state."""

    __slots__ = ("_body", "_obj", "_packing", "is_packed", "version")

    def __init__(self, obj: T, packing: Packing[T] | None) -> None:
        self.version = version_of(obj)
        self.is_packed = False
        self._packing = packing
        self._obj: T | None = obj
        self._body = b""

    @property
    def outline(self) -> T | None:
        """Part of the object that is not packed, or all of it; None where nothing is left."""
        return self._obj

    def read(self) -> T:
        """The object, which stays packed if it is."""
        if self._packing is not None and self.is_packed:
            return self._packing.decode(self._body, self._obj)
        assert self._obj is not None
        return self._obj

    def unpack(self) -> None:
        self._obj, self.is_packed = self.read(), False

    def pack(self) -> None:
        if self._packing is None or self.is_packed or self._obj is None:
            return
        self._body = self._body or self._packing.encode(self._obj)
        self._obj, self.is_packed = self._packing.rest(self._obj), True


class RecentObjects:
    """Entries that were read last, of all caches that share it; others are packed.

    `packings` are those of types, beside that of manifests; objects of other types are not packed.
    """

    def __init__(self, most: int = MAX_UNPACKED, packings: Mapping[type[Any], Packing[Any]] | None = None) -> None:
        self._most = most
        self._packings = {dict: _OF_MANIFESTS, **(packings or {})}
        self._entries: dict[CachedObject[Any], None] = {}
        """The one that was read last is at the end."""

    def packing_of(self, object_type: type[T]) -> Packing[T] | None:
        """Packing of the objects of a type, for one cache; None for those that are not packed."""
        found = self._packings.get(object_type)
        return found and _compressing(found)

    def touch(self, entry: CachedObject[Any]) -> None:
        self._entries.pop(entry, None)
        self._entries[entry] = None
        if len(self._entries) > self._most:
            oldest = next(iter(self._entries))
            del self._entries[oldest]
            with suppress(RecursionError):  # it is nested so deeply that it depends on the stack whether it can be
                oldest.pack()

    def forget(self, entry: CachedObject[Any] | None) -> None:
        """Leaves out an entry that a cache has no more."""
        if entry is not None:
            self._entries.pop(entry, None)


def _compressing(packing: Packing[T]) -> Packing[T]:
    bodies = SimilarBodies()
    return Packing(
        lambda obj: bodies.compressed(packing.encode(obj)),
        packing.rest,
        lambda body, rest: packing.decode(bodies.restored(body), rest),
    )


def _nothing(_: Manifest) -> None:
    return None


def _manifest_of(body: bytes, _: None) -> Manifest:
    return codec.decode_manifest(body)


_OF_MANIFESTS: Packing[Any] = Packing(codec.encode, _nothing, _manifest_of)
