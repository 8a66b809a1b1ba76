"""The verbs on a target: which method means what, and from a request to the registry and back to an answer."""

from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from leeward.api import codec
from leeward.api.meta import Manifest
from leeward.api.status import Status, StatusDetails, quoted
from leeward.apiserver import refusals
from leeward.apiserver.access.access import Access
from leeward.apiserver.admission import AdmissionReview
from leeward.apiserver.discovery.groups import verbs_of
from leeward.apiserver.forms.negotiation import negotiate
from leeward.apiserver.forms.presenting import Presenter
from leeward.apiserver.handler import StreamResponse, User
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.kinds.names import path_segment
from leeward.apiserver.registry.deleting import Deleter, delete_options
from leeward.apiserver.registry.objects import decode_stored
from leeward.apiserver.registry.open_watches import OpenWatches
from leeward.apiserver.registry.options import (
    list_options,
    parse_version,
    write_options,
)
from leeward.apiserver.registry.reading import read_one, read_page
from leeward.apiserver.registry.scaling import check_scalable
from leeward.apiserver.registry.selection import parse_selection
from leeward.apiserver.registry.sharing import SharedPieces
from leeward.apiserver.registry.showing import show_one
from leeward.apiserver.registry.watching import WatchRequest, open_watch
from leeward.apiserver.registry.writing import Writer
from leeward.apiserver.remarks import warn
from leeward.apiserver.routing import Target
from leeward.apiserver.verbs import component_statuses, reviews
from leeward.apiserver.verbs.bodies import check_namespace, read_body
from leeward.apiserver.verbs.call import Call
from leeward.apiserver.verbs.pods import ACTIONS, PodActions
from leeward.apiserver.verbs.writing import WriteVerbs
from leeward.client.transport import Request, Response
from leeward.loop.clock import Clock

Answer = Response | StreamResponse

TOKEN_REQUEST = Kind("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests")
"""What is sent to a service account for a token."""
_CHOOSING = ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch")
"""What says which objects of a collection are deleted."""
_UNSUPPORTED = {"DELETE": "delete", "POST": "create"}


@dataclass(frozen=True, slots=True)
class Verbs:
    """Answers requests for objects."""

    writer: Writer
    deleter: Deleter
    clock: Clock
    access: Access
    watches: OpenWatches
    shared: SharedPieces = field(default_factory=SharedPieces)

    async def answer(self, request: Request, user: User, target: Target) -> Answer:
        """Raises: Refused."""
        form = negotiate(request.headers.get("accept", ""), custom=target.kind.custom)
        presenter = Presenter(target.kind, form, request.query.get("includeObject", ""), self.clock.now())
        presenter.check()
        if target.kind.deprecation:
            warn(target.kind.deprecation)
        return await self._dispatch(Call(request, user, target, presenter))

    async def _dispatch(self, call: Call) -> Answer:
        target, method = call.target, call.request.method
        if target.name and method in ("GET", "PATCH", "DELETE"):
            _check_segment(target.name)
        if target.kind.ephemeral:
            return await self._review(call)
        if target.kind.derived:
            return component_statuses.answer(call, self.writer.store)
        if target.watched:
            return await self._watch(call)
        if target.subresource:
            return await self._answer_subresource(call)
        if target.name:
            return await self._answer_object(call)
        if method == "GET":
            return await self._list_or_watch(call)
        if target.kind.namespaced and not target.namespace:
            return _nowhere(target.kind)
        if method == "POST":
            return await self._writes.create(call)
        if method == "DELETE" and "deletecollection" in verbs_of(target.kind):
            return await self._delete_collection(call)
        if target.kind.custom and method in ("PUT", "PATCH"):
            raise refusals.bad_request("name must be provided")
        raise self._not_allowed(call)

    async def _answer_object(self, call: Call) -> Answer:
        match call.request.method:
            case "GET":
                return await self._get(call)
            case "PUT":
                return await self._writes.update(call)
            case "PATCH":
                return await self._writes.patch(call)
            case "DELETE":
                return await self._delete(call)
            case "POST" if call.kind.custom:
                return await self._writes.create(call)
            case _:
                raise self._not_allowed(call)

    async def _answer_subresource(self, call: Call) -> Answer:
        method, subresource = call.request.method, call.target.subresource
        if subresource not in call.kind.all_subresources:
            raise refusals.not_found(call.kind.group, call.kind.plural, call.target.name)
        if subresource == "finalize":
            if method != "PUT":
                raise refusals.method_not_allowed()
            return await self._writes.update(call)
        if call.kind.prefix == "//pods/" and subresource in ACTIONS:
            return await self._pods.answer(call)
        if subresource == "token":
            return await self._issue_token(call)
        if subresource == "scale":
            return await self._answer_scale(call)
        match method:
            case "GET":
                return await self._get(call)
            case "PUT":
                return await self._writes.update(call)
            case "PATCH":
                return await self._writes.patch(call)
            case _:
                raise self._not_allowed(call)

    async def _issue_token(self, call: Call) -> Response:
        if call.request.method != "POST":
            raise refusals.method_not_allowed()
        options = write_options(call.query, "CreateOptions")
        sent = read_body(call, options.field_validation, TOKEN_REQUEST)
        check_namespace(call.target, sent)
        manifest = await self._admitted(call, sent, options.dry_run)
        issued = self.access.issue_token(call.target.namespace, call.target.name, manifest, options.dry_run)
        return call.presenter.respond(codec.encode(issued), 201)

    def _not_allowed(self, call: Call) -> refusals.Refused:
        """Custom kinds name the verb, if the method is one."""
        kind = call.kind
        if kind.custom:
            return refusals.verb_not_supported(kind.group, kind.plural, _UNSUPPORTED.get(call.request.method, ""))
        return refusals.method_not_allowed()

    async def _review(self, call: Call) -> Response:
        target = call.target
        if target.name or bool(target.namespace) != call.kind.namespaced:
            raise refusals.found_nowhere("the server could not find the requested resource")
        if call.request.method != "POST":
            raise refusals.method_not_allowed()
        if call.kind.prefix == "//bindings/":
            return await self._pods.bind(call)
        options = write_options(call.query, "CreateOptions")
        sent = read_body(call, options.field_validation)
        check_namespace(target, sent)
        if call.kind.namespaced:
            sent["metadata"]["namespace"] = target.namespace
        manifest = await self._admitted(call, sent, options.dry_run)
        answer = reviews.answer(call.kind, manifest, call.user, self.clock.now(), self.access)
        return call.presenter.respond(codec.encode(answer), 201)

    async def _admitted(self, call: Call, manifest: Manifest, dry_run: bool) -> Manifest:
        """What is asked for and not stored, as webhooks let it pass."""
        target = call.target
        asked = AdmissionReview(
            "CREATE", call.kind, target.namespace, manifest, None, call.user, dry_run, target.subresource, target.name
        )
        return await self.writer.admission.ask(asked)

    async def _answer_scale(self, call: Call) -> Response:
        match call.request.method:
            case "GET":
                manifest = decode_stored(call.kind, await self._read(call))
                check_scalable(call.kind, manifest)
                return call.shown_scale(manifest)
            case "PUT" | "PATCH":
                return await self._writes.scale(call)
            case _:
                raise self._not_allowed(call)

    @property
    def _pods(self) -> PodActions:
        return PodActions(self.writer, self.deleter)

    @property
    def _writes(self) -> WriteVerbs:
        return WriteVerbs(self.writer, self.clock, self.access.gate)

    async def _get(self, call: Call) -> Response:
        return call.presenter.one(await self._read(call))

    async def _read(self, call: Call) -> bytes:
        text = call.query.get("resourceVersion", "")
        try:
            at_least = parse_version(text)
        except ValueError:
            raise refusals.broken_version(text, "resourceVersion") from None
        target = call.target
        record = read_one(self.writer.store, target.kind, target.namespace, target.name, at_least)
        return await show_one(target.kind, record)

    async def _watch(self, call: Call) -> Answer:
        """A watch by its path; of one object, if that names one."""
        if call.request.method != "GET":
            raise self._not_allowed(call)
        query = {**call.query, "watch": "true"}
        if call.target.name:
            query["fieldSelector"] = _narrowed(call.query.get("fieldSelector", ""), call.target.name)
        return await self._list_or_watch(structs.replace(call, request=structs.replace(call.request, query=query)))

    async def _list_or_watch(self, call: Call) -> Answer:
        options = list_options(call.query)
        selection = parse_selection(call.kind, options.label_selector, options.field_selector)
        store, namespace = self.writer.store, call.target.namespace
        if options.watch:
            call.presenter.check_stream()
            view = call.presenter.view(namespace, options, selection)
            request = WatchRequest(call.kind, namespace, selection, options, call.presenter.frames(), view)
            pieces = open_watch(store, self.clock, request, self.shared, self.watches)
            return StreamResponse(pieces, call.presenter.form.media_type, line_end=b"")
        return call.presenter.page(await read_page(store, call.kind, namespace, selection, options))

    async def _delete(self, call: Call) -> Response:
        target = call.target
        options = delete_options(call.request.body, dict(call.query), call.content_type)
        written = await self.deleter.delete(target.kind, target.namespace, target.name, options, call.user)
        if written.deleted and not target.kind.returns_deleted:
            return call.presenter.respond(codec.encode(_deleted_status(target.kind, written.manifest)))
        return await call.shown(written)

    async def _delete_collection(self, call: Call) -> Response:
        """Deletes what is selected, one by one; objects that went meanwhile are passed over."""
        kind, namespace = call.kind, call.target.namespace
        chosen = list_options({key: call.query[key] for key in _CHOOSING if key in call.query})
        selection = parse_selection(kind, chosen.label_selector, chosen.field_selector)
        options = delete_options(call.request.body, dict(call.query), call.content_type)
        page = await read_page(self.writer.store, kind, namespace, selection, chosen)
        for value in page.values:
            metadata = decode_stored(kind, value)["metadata"]
            try:
                await self.deleter.delete(kind, metadata.get("namespace", ""), metadata["name"], options, call.user)
            except refusals.Refused as refusal:
                if refusal.status.code != 404:
                    raise
        return call.presenter.page(page)


def _narrowed(selector: str, name: str) -> str:
    """The field selector of a watch of one object. Raises: Refused for one that selects others."""
    only = f"metadata.name={name}"
    if selector and only not in selector.replace("==", "=").split(","):
        raise refusals.bad_request("fieldSelector metadata.name doesn't match requested name")
    return selector or only


def _check_segment(name: str) -> None:
    """There are no objects whose names a path cannot carry. Raises: Refused."""
    found = path_segment(name)
    if found:
        raise refusals.bad_request(f"Name parameter invalid: {quoted(name)}: {';'.join(found)}")


def _nowhere(kind: Kind) -> Response:
    """The answer to writing a namespaced kind outside of a namespace."""
    if kind.custom:
        return refusals.page_not_found()
    raise refusals.method_not_allowed()


def _deleted_status(kind: Kind, manifest: Manifest) -> dict[str, Any]:
    metadata = manifest["metadata"]
    details = StatusDetails(name=metadata["name"], group=kind.group, kind=kind.plural, uid=metadata["uid"])
    return {
        key: value
        for key, value in refusals.render_status(Status(status="Success", details=details)).items()
        if key != "code"
    }
