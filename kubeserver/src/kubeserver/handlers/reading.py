"""The verbs that read: get, list and watch, on objects and on their status."""

from dataclasses import dataclass, field

from msgspec import structs

from kubeapi.loop import Clock
from kubeapi.loop.seats import Crowded, Seats
from kubeapi.transport import Response
from kubeserver import errors
from kubeserver.handler import StreamResponse
from kubeserver.handlers.call import Call
from kubeserver.handlers.fairness import RETRY_AFTER_SECONDS, too_many
from kubeserver.registry.conversion import show_one
from kubeserver.registry.open_watches import OpenWatches
from kubeserver.registry.options import list_options, parse_version
from kubeserver.registry.reading import read_one, read_page
from kubeserver.registry.selection import parse_selection
from kubeserver.registry.watch_frame_cache import SharedPieces
from kubeserver.registry.watching import WatchRequest, open_watch
from kubeserver.store import Store

LARGE_LIST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadVerbs:
    """Handlers of get, list and watch. All of them raise: Refused."""

    store: Store
    clock: Clock
    watches: OpenWatches
    shared: SharedPieces = field(default_factory=SharedPieces)
    large_lists: Seats = field(default_factory=lambda: Seats(2, 8, 20.0))
    """Seats of those whose lists are made, each of which takes its size in memory twice. Few of a user wait for one,
    since they keep their seats among the readers."""

    async def get(self, call: Call) -> Response:
        return call.presenter.one(await self.value(call))

    async def value(self, call: Call) -> bytes:
        """The object as it is shown."""
        text = call.query.get("resourceVersion", "")
        try:
            at_least = parse_version(text)
        except ValueError:
            raise errors.broken_version(text, "resourceVersion") from None
        target = call.target
        record = read_one(self.store, target.kind, target.namespace, target.name, at_least)
        return await show_one(target.kind, record)

    async def list_or_watch(self, call: Call) -> Response | StreamResponse:
        options = list_options(call.query)
        selection = parse_selection(call.kind, options.label_selector, options.field_selector)
        namespace = call.target.namespace
        if options.watch:
            call.presenter.check_stream()
            view = call.presenter.view(namespace, options, selection)
            request = WatchRequest(call.kind, namespace, selection, options, call.presenter.frames(), view)
            pieces = open_watch(self.store, self.clock, request, self.shared, self.watches)
            return StreamResponse(pieces, call.presenter.form.media_type, line_end=b"")
        page = await read_page(self.store, call.kind, namespace, selection, options)
        if sum(map(len, page.values)) < LARGE_LIST_BYTES:
            return await call.presenter.page(page)
        try:
            await self.large_lists.take(call.user.name)
        except Crowded:
            return too_many(RETRY_AFTER_SECONDS)
        try:
            return await call.presenter.page(page)
        finally:
            self.large_lists.give_back()

    async def watch(self, call: Call) -> Response | StreamResponse:
        """A watch by its path; of one object, if that names one."""
        if call.request.method != "GET":
            raise call.not_allowed()
        query = {**call.query, "watch": "true"}
        if call.target.name:
            query["fieldSelector"] = _narrowed(call.query.get("fieldSelector", ""), call.target.name)
        return await self.list_or_watch(structs.replace(call, request=structs.replace(call.request, query=query)))


def _narrowed(selector: str, name: str) -> str:
    """The field selector of a watch of one object. Raises: Refused for one that selects others."""
    only = f"metadata.name={name}"
    if selector and only not in selector.replace("==", "=").split(","):
        raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
    return selector or only
