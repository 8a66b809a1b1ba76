"""Copies of settled applications: a large fleet is made of a few that were propagated, and of copies of them.

A copy is what its original is (a template, a binding, Works, objects in members) under another name, with other uids,
as if it had been propagated likewise. So a fleet of ten thousand is there in a minute, and `serve` finds nothing to
write in it.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import msgspec

from kubeserver.store import Record, Store
from leeward.api.names import TEMPLATE_CONTENTS_ANNOTATION, TEMPLATE_DIGEST_ANNOTATION, work_name
from leeward.core.propagation.digest import digest_annotations

ORDERS, DONE = "copies.json", "copies.done"
"""Files in the directory of a control plane: what it is to copy (`Orders`), and that it has."""
AT_ONCE = 1_000
UID = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_VERSION = re.compile(rb'"resourceVersion":"\d+"')
_TEMPLATES, _BINDINGS, _WORKS = "/apps/deployments/", "/work.karmada.io/resourcebindings/", "/work.karmada.io/works/"


class Orders(msgspec.Struct, frozen=True):
    """`copies`: names of the copies by that of the original, all of one length. `kept` are uids that are not of an
    application: they stay as they are in a copy."""

    copies: Mapping[str, list[str]]
    kept: frozenset[str]


class Copy:
    """One application as a copy of another."""

    def __init__(self, original: str, name: str, kept: frozenset[str]) -> None:
        works = (work_name("Deployment", each, "default").encode() for each in (original, name))
        self._names = (tuple(works), (original.encode(), name.encode()))
        self._name = name
        self._kept = kept

    def of(self, value: bytes) -> bytes:
        """The object, or its key, as the copy has it."""
        for old, new in self._names:
            value = value.replace(old, new)
        return UID.sub(self._uid, value)

    def _uid(self, found: re.Match[bytes]) -> bytes:
        uid = found[0].decode()
        return found[0] if uid in self._kept else str(uuid5(NAMESPACE_OID, f"{uid} {self._name}")).encode()


async def copy_all(store: Store, directory: Path) -> None:
    """Carries out the orders in the directory of a control plane."""
    orders = msgspec.json.decode((directory / ORDERS).read_bytes(), type=Orders)
    copies = _copies(store, orders)
    while some := list(islice(copies, AT_ONCE)):
        await asyncio.gather(*(_put(store, key, value) for key, value in some))
    (directory / DONE).touch()


async def _put(store: Store, key: str, value: bytes) -> None:
    def render(revision: int) -> bytes:
        return _VERSION.sub(b'"resourceVersion":"%d"' % revision, value, count=1)

    await store.put(key, None, render)


def _copies(store: Store, orders: Orders) -> Iterator[tuple[str, bytes]]:
    """Keys and values of all copies."""
    records = {prefix: store.list(prefix).records for prefix in (_TEMPLATES, _BINDINGS, _WORKS)}
    for original, names in orders.copies.items():
        template, binding = (_one(records[prefix], original) for prefix in (_TEMPLATES, _BINDINGS))
        works = [record for record in records[_WORKS] if _is_of(record, original)]
        for name in names:
            copy = Copy(original, name, orders.kept)
            made = copy.of(template.value)
            yield copy.of(template.key.encode()).decode(), made
            yield copy.of(binding.key.encode()).decode(), _with_digests(copy.of(binding.value), made)
            for work in works:
                yield copy.of(work.key.encode()).decode(), copy.of(work.value)


def _with_digests(binding: bytes, template: bytes) -> bytes:
    for name, digest in digest_annotations(msgspec.json.decode(template), None).items():
        assert name in (TEMPLATE_DIGEST_ANNOTATION, TEMPLATE_CONTENTS_ANNOTATION)
        binding = re.sub(rb'"%b":"[0-9a-f]+"' % name.encode(), b'"%b":"%b"' % (name.encode(), digest.encode()), binding)
    return binding


def _one(records: Iterable[Record], original: str) -> Record:
    (found,) = (record for record in records if _is_of(record, original))
    return found


def _is_of(record: Record, original: str) -> bool:
    name = record.key.rpartition("/")[2]
    return name == original or name.startswith(f"{original}-")
