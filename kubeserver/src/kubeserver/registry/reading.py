"""Get and list: what is committed, in pages of one revision.

Holds: D4 (a list is from one revision), D5 (what is compacted is 410, never silence).
"""

import base64
import re
from dataclasses import dataclass

import msgspec

from kubeapi import codec
from kubeserver import errors
from kubeserver.kinds.kind import Kind
from kubeserver.registry.conversion import show
from kubeserver.registry.options import ListOptions
from kubeserver.registry.selection import Selection
from kubeserver.serialization.json_text import json_fault
from kubeserver.store import Compacted, FutureRevision, Record, Store

_TOO_OLD_PAGE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)


_TOKEN_VERSION = "meta.k8s.io/v1"


class _Token(msgspec.Struct, gc=False):
    """Token that tells after which key (`start`) the next page begins, and of which revision (`rv`) it is; named as in
    Kubernetes."""

    v: str = ""
    rv: int = 0
    start: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """`values` as they are shown. `remaining` is None where it is not known."""

    values: list[bytes]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


def read_one(store: Store, kind: Kind, namespace: str, name: str, at_least: int | None) -> Record:
    """Raises: Refused when it is not there, or when the store has not come to revision `at_least`."""
    check_not_future(store, at_least)
    record = store.get(kind.key(namespace, name))
    if record is None:
        raise errors.not_found(kind.group, kind.plural, name)
    return record


async def read_page(store: Store, kind: Kind, namespace: str, selection: Selection, options: ListOptions) -> Page:
    """One page of what is selected in a namespace, or in all. Raises: Refused."""
    prefix = prefix_of(kind, namespace)
    revision, start_after = _start(store, prefix, options)
    try:
        return await _collect(store, prefix, selection, revision, start_after, _limit(options))
    except Compacted:
        said = _TOO_OLD_PAGE if options.continue_token else "The resourceVersion for the provided list is too old."
        raise errors.expired(said) from None
    except FutureRevision:
        raise errors.future_version(revision or 0, store.revision) from None


def prefix_of(kind: Kind, namespace: str) -> str:
    return f"{kind.prefix}{namespace}/" if namespace and kind.namespaced else kind.prefix


def check_not_future(store: Store, revision: int | None) -> None:
    if revision is not None and revision > store.revision:
        raise errors.future_version(revision, store.revision)


def _start(store: Store, prefix: str, options: ListOptions) -> tuple[int | None, str]:
    """The revision to read (None: the newest) and the key to read from."""
    if options.continue_token:
        token = _read_token(options.continue_token)
        if options.resource_version:
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        return token.rv, prefix + token.start
    check_not_future(store, options.resource_version)
    exact = options.match == "Exact" or (not options.match and options.limit > 0)
    return (options.resource_version or None) if exact else None, ""


def _limit(options: ListOptions) -> int:
    """Limit of a list. Who takes any state, resourceVersion 0, gets all of it: kube-apiserver's cache does not cut
    it."""
    return 0 if options.resource_version == 0 and not options.continue_token else options.limit


async def _collect(
    store: Store, prefix: str, selection: Selection, revision: int | None, start_after: str, limit: int
) -> Page:
    if selection.everything:
        listing = store.list(prefix, revision=revision, start_after=start_after, limit=limit)
        values = await show(selection.kind, listing.records)
        if not listing.more:
            return Page(values, listing.revision)
        token = _render_token(prefix, listing.revision, listing.records[-1])
        return Page(values, listing.revision, token, listing.remaining)
    listing = store.list(prefix, revision=revision, start_after=start_after)
    matching = [record for record in listing.records if _may_match(selection, record)]
    shown = zip(matching, await show(selection.kind, matching), strict=True)
    chosen = [(record, value) for record, value in shown if selection.matches(value)]
    page = [value for _, value in chosen]
    if not limit or len(chosen) <= limit:
        return Page(page, listing.revision)
    return Page(page[:limit], listing.revision, _render_token(prefix, listing.revision, chosen[limit - 1][0]))


def _may_match(selection: Selection, record: Record) -> bool:
    """A cheap look at the key before anything is decoded."""
    name = selection.only_name
    return not name or record.key.endswith(f"/{name}")


def _render_token(prefix: str, revision: int, last: Record) -> str:
    token = codec.encode(_Token(_TOKEN_VERSION, revision, last.key.removeprefix(prefix)))
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def _read_token(text: str) -> _Token:
    """Raises: Refused for one that this server cannot have given out."""
    decoded = b""
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        token = codec.decode(decoded, _Token)
    except codec.DecodeError as error:
        raise _invalid_token(f": {json_fault(error, decoded)}") from None
    except ValueError:
        raise _invalid_token(f": illegal base64 data at input byte {_first_illegal(text)}") from None
    if token.v != _TOKEN_VERSION:
        raise _invalid_token(f": server does not recognize this encoded version {token.v}")
    if not token.rv:
        raise _invalid_token(f": incorrect encoded start resourceVersion (version {_TOKEN_VERSION})")
    if not token.start:
        raise _invalid_token(f": encoded start key empty (version {_TOKEN_VERSION})")
    return token


def _invalid_token(why: str) -> errors.Refused:
    return errors.bad_request(f"invalid continue token: continue key is not valid{why}")


def _first_illegal(text: str) -> int:
    """Index at which the text stops to be base64: at a foreign letter, or at its last, incomplete part."""
    found = re.search("[^A-Za-z0-9_-]", text)
    return found.start() if found is not None else len(text) - len(text) % 4
