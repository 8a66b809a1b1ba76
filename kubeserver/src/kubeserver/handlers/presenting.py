"""Stored bytes as the client wants to see them: objects, tables, or metadata; in JSON or YAML."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from kubeapi import codec
from kubeapi.transport import Response
from kubeserver.errors import not_acceptable, not_shown, plain_error, warning_header
from kubeserver.handlers import table
from kubeserver.kinds.kind import Kind
from kubeserver.negotiation import JSON, PROTOBUF, STREAMS, YAML, Form
from kubeserver.registry.large_objects import pause
from kubeserver.registry.objects import body_of, decode_stored, item_of
from kubeserver.registry.options import ListOptions
from kubeserver.registry.reading import Page
from kubeserver.registry.selection import Selection
from kubeserver.registry.watch_frame_cache import View
from kubeserver.registry.watching import Render
from kubeserver.serialization.protobuf import Unwritable, render_protobuf
from kubeserver.serialization.yaml import dump_yaml

T = TypeVar("T")

MOST_FORMED_BYTES: Final = 256 * 1024
"""Bytes of JSON of which an answer is made in another form."""
PAUSE_BYTES: Final = 1024 * 1024
"""Bytes of objects that are shown before others run: a table reads each of them."""


class Presenter(msgspec.Struct, frozen=True):
    """Presenter of objects of one kind for one request."""

    kind: Kind
    form: Form
    include: str
    now: datetime

    def check(self) -> None:
        """Raises: Refused for a form that cannot be made."""
        if self.form.shape == "table":
            table.check_include(self.include)

    def check_stream(self) -> None:
        """Raises: Refused for a form in which no watch can be."""
        if self.form.media_type != JSON:
            raise not_acceptable(STREAMS)

    def one(self, value: bytes, code: int = 200) -> Response:
        if self.form.of_list:
            if self.kind.custom:
                raise plain_error("content is not a list")
            said = f"not a list (*{self._go_type})"
            raise not_shown(f"you requested PartialObjectMetadataList, but the requested object is {said}")
        return self.respond(self._one_body(value), code)

    async def page(self, page: Page) -> Response:
        """Response of a page; others run after each so many bytes of it."""
        match self.form.shape:
            case "object":
                return self.respond(await self._list_body(page))
            case "table":
                rows = await _made(page.values, self._row)
                columns = table.render_columns(self.kind)
                metadata = _list_metadata(page)
                return self.respond(codec.encode(table.render_table(rows, metadata, self.form.version, columns)))
            case "partial":
                if not self.form.of_list:
                    said = f"a list (*{self._go_type}List)"
                    raise not_shown(f"you requested PartialObjectMetadata, but the requested object is {said}")
                return self.respond(await self._partial_list_body(page))

    def frames(self) -> Render:
        """Function by which a watch shows objects; the columns of a table only once."""
        if self.form.shape != "table":
            return self._one_body
        columns: list[dict[str, Any]] | None = table.render_columns(self.kind)

        def render(value: bytes) -> bytes:
            nonlocal columns
            body = self._table_body(value, columns)
            columns = None
            return body

        return render

    def view(self, namespace: str, options: ListOptions, selection: Selection) -> View | None:
        """View that a watch has in common with others; a table has its own columns and ages.

        Fields below the metadata are chosen as the kind says at the moment, so they are nothing to share either.
        """
        if self.form.shape == "table" or selection.body_fields:
            return None
        kind, form = self.kind, self.form
        chosen = options.label_selector, options.field_selector
        return View(
            kind.prefix,
            kind.api_version,
            kind.kind,
            namespace,
            form.shape,
            form.version,
            *chosen,
            kind.conversion or kind.form,
        )

    @property
    def _go_type(self) -> str:
        """Type that an object of the kind has in Kubernetes' own source."""
        package = self.kind.group.partition(".")[0] or "core"
        return "unstructured.Unstructured" if self.kind.custom else f"{package}.{self.kind.kind}"

    def respond(self, body: bytes, code: int = 200) -> Response:
        """A large answer is in JSON, whatever was asked for: another form of it takes seconds. JSON is YAML, and who
        reads protobuf goes by the type of the answer."""
        if len(body) > MOST_FORMED_BYTES:
            return Response(code, body, {"content-type": JSON})
        if self.form.media_type == YAML:
            body = dump_yaml(codec.decode_manifest(body))
        if self.form.media_type == PROTOBUF:
            return _in_protobuf(body, code)
        return Response(code, body, {"content-type": self.form.media_type})

    def _one_body(self, value: bytes) -> bytes:
        match self.form.shape:
            case "object":
                return body_of(self.kind, value)
            case "table":
                return self._table_body(value, table.render_columns(self.kind))
            case "partial":
                return codec.encode(table.render_partial(decode_stored(self.kind, value), self.form.version))

    def _table_body(self, value: bytes, columns: list[dict[str, Any]] | None) -> bytes:
        row = self._row(value)
        metadata = {"resourceVersion": codec.decode(value, _Versioned).metadata.resource_version}
        return codec.encode(table.render_table([row], metadata, self.form.version, columns))

    def _row(self, value: bytes) -> dict[str, Any]:
        manifest = decode_stored(self.kind, value)
        return table.render_row(self.kind, manifest, self.now, self.include, self.form.version)

    async def _list_body(self, page: Page) -> bytes:
        """Joins the stored bytes; nothing is decoded."""
        kind = self.kind
        metadata = _list_metadata(page)
        if kind.custom:
            metadata.setdefault("continue", "")
        start = {"kind": kind.list_kind_name, "apiVersion": kind.api_version, "metadata": metadata}
        items = await _made(page.values, lambda value: item_of(kind, value)) or [b""]
        await pause(sum(map(len, items)))
        items[0] = b'%s,"items":[%s' % (codec.encode(start)[:-1], items[0])
        items[-1] += b"]}"
        return b",".join(items)

    async def _partial_list_body(self, page: Page) -> bytes:
        version = self.form.version
        items = await _made(page.values, lambda value: table.render_partial(decode_stored(self.kind, value), version))
        return codec.encode(
            {
                "kind": "PartialObjectMetadataList",
                "apiVersion": f"meta.k8s.io/{self.form.version}",
                "metadata": _list_metadata(page),
                "items": items or None,
            }
        )


async def _made(values: Sequence[bytes], make: Callable[[bytes], T]) -> list[T]:
    """`make` of each value, with a pause after each so many bytes."""
    made, size = list[T](), 0
    for value in values:
        made.append(make(value))
        size += len(value)
        if size >= PAUSE_BYTES:
            await pause(size)
            size = 0
    return made


def _in_protobuf(body: bytes, code: int) -> Response:
    """Answer in protobuf; what cannot be said so is said in JSON: it may tell of something that is done."""
    try:
        return Response(code, render_protobuf(codec.decode_manifest(body)), {"content-type": PROTOBUF})
    except Unwritable:
        return Response(code, body, {"content-type": JSON})


class _Meta(msgspec.Struct, rename="camel", gc=False):
    resource_version: str = ""


class _Versioned(msgspec.Struct, gc=False):
    metadata: _Meta


def _list_metadata(page: Page) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(page.revision)}
    if page.continue_token:
        metadata["continue"] = page.continue_token
    if page.remaining:
        metadata["remainingItemCount"] = page.remaining
    return metadata


def with_warnings(response: Response, warnings: list[str]) -> Response:
    """Adds `Warning` headers, as one header of several values, behind those that are there."""
    header = warning_header(warnings) if warnings else {}
    if not header:
        return response
    said = response.headers.get("warning", "")
    merged = {"warning": f"{said}, {header['warning']}"} if said else header
    return Response(response.code, response.body, {**response.headers, **merged})
