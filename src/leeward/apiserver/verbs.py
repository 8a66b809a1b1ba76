"""The verbs on a target: which method means what, and from a request to the registry and back to an answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from leeward.api import codec
from leeward.api.meta import Manifest
from leeward.api.status import Problem, Status, StatusDetails
from leeward.apiserver import refusals, reviews
from leeward.apiserver.handler import StreamResponse, User
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.negotiation import negotiate
from leeward.apiserver.presenting import Presenter, with_warnings
from leeward.apiserver.registry.decoding import (
    Decoded,
    Unfit,
    cannot_handle,
    check_type,
    decode_object,
    parse_body,
)
from leeward.apiserver.registry.deleting import Deleter, delete_options
from leeward.apiserver.registry.objects import decode_stored, encode_unstored, metadata_of
from leeward.apiserver.registry.options import ListOptions, list_options, parse_version, write_options
from leeward.apiserver.registry.patching import parse_patch, unfit_patch
from leeward.apiserver.registry.reading import read_one, read_page
from leeward.apiserver.registry.scaling import render_scale, scaled
from leeward.apiserver.registry.selection import parse_selection
from leeward.apiserver.registry.watching import WatchRequest, open_watch
from leeward.apiserver.registry.writing import Writer, Written
from leeward.apiserver.routing import Target
from leeward.client.transport import Request, Response
from leeward.loop.clock import Clock

Answer = Response | StreamResponse


@dataclass(frozen=True, slots=True)
class Call:
    """One request, with what is known about it."""

    request: Request
    user: User
    target: Target
    presenter: Presenter

    @property
    def kind(self) -> Kind:
        return self.target.kind

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    @property
    def content_type(self) -> str:
        return self.request.headers.get("content-type", "")


@dataclass(frozen=True, slots=True)
class Verbs:
    """Answers requests for objects."""

    writer: Writer
    deleter: Deleter
    clock: Clock

    async def answer(self, request: Request, user: User, target: Target) -> Answer:
        """Raises: Refused."""
        form = negotiate(request.headers.get("accept", ""))
        presenter = Presenter(target.kind, form, request.query.get("includeObject", ""), self.clock.now())
        presenter.check()
        call = Call(request, user, target, presenter)
        answered = await self._dispatch(call)
        if target.kind.deprecation and isinstance(answered, Response):
            return with_warnings(answered, [target.kind.deprecation])
        return answered

    async def _dispatch(self, call: Call) -> Answer:
        target, method = call.target, call.request.method
        if target.kind.ephemeral:
            return self._review(call)
        if target.subresource:
            return await self._answer_subresource(call)
        if target.name:
            return await self._answer_object(call)
        if method == "GET":
            return self._list_or_watch(call)
        if target.kind.namespaced and not target.namespace:
            return _nowhere(target.kind)
        if method == "POST":
            return await self._create(call)
        if method == "DELETE":
            return await self._delete_collection(call)
        raise refusals.method_not_allowed()

    async def _answer_object(self, call: Call) -> Answer:
        match call.request.method:
            case "GET":
                return self._get(call)
            case "PUT":
                return await self._update(call)
            case "PATCH":
                return await self._patch(call)
            case "DELETE":
                return await self._delete(call)
            case _:
                raise refusals.method_not_allowed()

    async def _answer_subresource(self, call: Call) -> Answer:
        method, subresource = call.request.method, call.target.subresource
        if subresource == "finalize":
            return await self._update(call) if method == "PUT" else self._no(call)
        if subresource == "scale":
            return await self._answer_scale(call)
        match method:
            case "GET":
                return self._get(call)
            case "PUT":
                return await self._update(call)
            case "PATCH":
                return await self._patch(call)
            case _:
                return self._no(call)

    def _no(self, call: Call) -> Response:
        raise refusals.method_not_allowed()

    def _review(self, call: Call) -> Response:
        if call.request.method != "POST" or call.target.name:
            raise refusals.method_not_allowed()
        manifest = parse_body(call.kind, call.request.body, call.content_type)
        check_type(call.kind, manifest)
        answer = reviews.answer(call.kind, manifest, call.user, self.clock.now())
        return call.presenter.respond(codec.encode(answer), 201)

    def _get(self, call: Call) -> Response:
        return call.presenter.one(self._read(call))

    def _read(self, call: Call) -> bytes:
        text = call.query.get("resourceVersion", "")
        try:
            at_least = parse_version(text)
        except ValueError:
            raise refusals.broken_version(text, "resourceVersion") from None
        target = call.target
        return read_one(self.writer.store, target.kind, target.namespace, target.name, at_least)

    def _list_or_watch(self, call: Call) -> Answer:
        options = list_options(call.query)
        selection = parse_selection(call.kind, options.label_selector, options.field_selector)
        store, namespace = self.writer.store, call.target.namespace
        if options.watch:
            request = WatchRequest(call.kind, namespace, selection, options, call.presenter.frames())
            return StreamResponse(open_watch(store, self.clock, request), call.presenter.form.media_type)
        return call.presenter.page(read_page(store, call.kind, namespace, selection, options))

    async def _create(self, call: Call) -> Response:
        kind, target = call.kind, call.target
        options = write_options(call.query, "CreateOptions")
        manifest = parse_body(kind, call.request.body, call.content_type)
        check_type(kind, manifest)
        decoded = _fit(kind, manifest, options.field_validation)
        _check_namespace(target, decoded.manifest)
        if kind.terminating:
            name = metadata_of(manifest).get("name", "")
            why = "create not allowed while custom resource definition is terminating"
            raise refusals.forbidden(kind.group, kind.plural, name, why)
        written = await self.writer.create(kind, target.namespace, decoded.manifest, call.user, options.dry_run)
        return with_warnings(_shown(call, written, 201), decoded.warnings)

    async def _update(self, call: Call) -> Response:
        kind, target = call.kind, call.target
        options = write_options(call.query, "UpdateOptions")
        manifest = parse_body(kind, call.request.body, call.content_type)
        check_type(kind, manifest)
        decoded = _fit(kind, manifest, options.field_validation)
        wanted = decoded.manifest
        _check_name(target, wanted)
        _check_conditional(kind, target.name, wanted)
        written = await self._change(call, lambda current: dict(wanted), options.dry_run)
        return with_warnings(_shown(call, written), decoded.warnings)

    async def _patch(self, call: Call) -> Response:
        kind = call.kind
        options = write_options(call.query, "PatchOptions")
        apply = parse_patch(kind, call.request.body, call.content_type)
        warnings: list[str] = []

        def change(current: Manifest) -> Manifest:
            decoded = _fit_patched(kind, apply(current), options.field_validation)
            _check_name(call.target, decoded.manifest)
            warnings[:] = decoded.warnings
            return decoded.manifest

        written = await self._change(call, change, options.dry_run)
        return with_warnings(_shown(call, written), warnings)

    async def _change(self, call: Call, change: Callable[[Manifest], Manifest], dry_run: bool) -> Written:
        target = call.target
        return await self.writer.change(
            target.kind, target.namespace, target.name, change, call.user, dry_run, target.subresource
        )

    async def _answer_scale(self, call: Call) -> Response:
        kind, target, method = call.kind, call.target, call.request.method
        if method == "GET":
            stored = decode_stored(kind, self._read(call))
            return call.presenter.respond(codec.encode(render_scale(kind, stored)))
        if method == "PUT":
            wanted = parse_body(kind, call.request.body, call.content_type)
            apply: Callable[[Manifest], Manifest] = lambda current: wanted  # noqa: E731
        elif method == "PATCH":
            apply = parse_patch(kind, call.request.body, call.content_type)
        else:
            raise refusals.method_not_allowed()
        dry_run = write_options(call.query, "UpdateOptions").dry_run
        written = await self.writer.change(
            kind,
            target.namespace,
            target.name,
            lambda current: scaled(kind, current, apply(render_scale(kind, current))),
            call.user,
            dry_run,
        )
        return call.presenter.respond(codec.encode(render_scale(kind, written.manifest)))

    async def _delete(self, call: Call) -> Response:
        target = call.target
        options = delete_options(call.request.body, dict(call.query), call.content_type)
        written = await self.deleter.delete(target.kind, target.namespace, target.name, options, call.user)
        if written.deleted and not target.kind.returns_deleted:
            return call.presenter.respond(codec.encode(_deleted_status(target.kind, written.manifest)))
        return _shown(call, written)

    async def _delete_collection(self, call: Call) -> Response:
        """Deletes what is selected, one by one; objects that went meanwhile are passed over."""
        kind, namespace = call.kind, call.target.namespace
        selectors = {key: call.query[key] for key in ("labelSelector", "fieldSelector") if key in call.query}
        chosen = list_options(selectors)
        selection = parse_selection(kind, chosen.label_selector, chosen.field_selector)
        options = delete_options(call.request.body, dict(call.query), call.content_type)
        page = read_page(self.writer.store, kind, namespace, selection, ListOptions())
        for value in page.values:
            metadata = decode_stored(kind, value)["metadata"]
            try:
                await self.deleter.delete(kind, metadata.get("namespace", ""), metadata["name"], options, call.user)
            except refusals.Refused as refusal:
                if refusal.status.code != 404:
                    raise
        return call.presenter.page(page)


def _nowhere(kind: Kind) -> Response:
    """The answer to writing a namespaced kind outside of a namespace."""
    if kind.custom:
        return refusals.page_not_found()
    raise refusals.method_not_allowed()


def _fit(kind: Kind, manifest: Manifest, field_validation: str) -> Decoded:
    try:
        return decode_object(kind, manifest, field_validation)
    except Unfit as unfit:
        raise cannot_handle(kind, unfit) from unfit


def _fit_patched(kind: Kind, manifest: Manifest, field_validation: str) -> Decoded:
    _check_patched_type(kind, manifest)
    try:
        return decode_object(kind, manifest, field_validation)
    except Unfit as unfit:
        raise unfit_patch(str(unfit)) from unfit


def _check_patched_type(kind: Kind, manifest: Manifest) -> None:
    said_version, said_kind = manifest.get("apiVersion"), manifest.get("kind")
    if (said_version, said_kind) == (kind.api_version, kind.kind):
        return
    if not kind.custom:
        raise unfit_patch(f'no kind "{said_kind}" is registered for version "{said_version}"')
    problems: list[Problem] = []
    if said_kind != kind.kind:
        problems.append(Problem.invalid("kind", said_kind, f"must be {kind.kind}"))
    if said_version != kind.api_version:
        problems.append(Problem.invalid("apiVersion", said_version, f"must be {kind.api_version}"))
    group = str(said_version or "").rpartition("/")[0]
    raise refusals.invalid(group, str(said_kind), str(metadata_of(manifest).get("name", "")), problems)


def _check_namespace(target: Target, manifest: Manifest) -> None:
    said = metadata_of(manifest).get("namespace", "")
    if target.kind.namespaced and said not in ("", target.namespace):
        raise refusals.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _check_name(target: Target, manifest: Manifest) -> None:
    said = metadata_of(manifest).get("name", "")
    if not said:
        raise refusals.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if said != target.name:
        raise refusals.bad_request(
            f"the name of the object ({said}) does not match the name on the URL ({target.name})"
        )
    _check_namespace(target, manifest)


def _check_conditional(kind: Kind, name: str, manifest: Manifest) -> None:
    """Some kinds are only replaced by those who know what they replace."""
    if not kind.unconditional_update and metadata_of(manifest).get("resourceVersion", "") in ("", "0"):
        problem = Problem.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise refusals.invalid(kind.group, kind.plural, name, [problem])


def _shown(call: Call, written: Written, code: int = 200) -> Response:
    if written.record is not None and not written.deleted:
        return call.presenter.one(written.record.value, code)
    return call.presenter.one(encode_unstored(call.kind, written.manifest), code)


def _deleted_status(kind: Kind, manifest: Manifest) -> dict[str, Any]:
    metadata = manifest["metadata"]
    details = StatusDetails(name=metadata["name"], group=kind.group, kind=kind.plural, uid=metadata["uid"])
    return {
        key: value
        for key, value in refusals.render_status(Status(status="Success", details=details)).items()
        if key != "code"
    }
