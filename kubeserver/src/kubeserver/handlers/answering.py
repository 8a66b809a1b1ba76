"""The verbs on a target: which method means what there, and who does it.

reading   get, list, watch      writing  create, update, patch, apply, scale      deleting  one, or a collection
reviews   what is answered and not stored      pods  what is done with Pods
"""

from kubeapi.status import quoted
from kubeapi.transport import Request, Response
from kubeserver import errors
from kubeserver.auth.access import Access
from kubeserver.discovery.groups import verbs_of
from kubeserver.handler import StreamResponse, User
from kubeserver.handlers import derived
from kubeserver.handlers.call import Call
from kubeserver.handlers.component_statuses import component_statuses
from kubeserver.handlers.deleting import DeleteVerbs
from kubeserver.handlers.derived import DerivedObjects, Missing
from kubeserver.handlers.pods import ACTIONS, Kubelet, PodActions
from kubeserver.handlers.presenting import Presenter
from kubeserver.handlers.reading import ReadVerbs
from kubeserver.handlers.reviews import ReviewVerbs
from kubeserver.handlers.writing import WriteVerbs
from kubeserver.kinds.kind import Kind
from kubeserver.names import path_segment
from kubeserver.negotiation import negotiate
from kubeserver.registry.deleting import Deleter
from kubeserver.registry.objects import decode_stored
from kubeserver.registry.open_watches import OpenWatches
from kubeserver.registry.scaling import check_scalable
from kubeserver.registry.writing import Writer
from kubeserver.routing import Target
from kubeserver.warnings import warn

Answer = Response | StreamResponse


class Verbs:
    """Answers requests for objects."""

    def __init__(self, writer: Writer, deleter: Deleter, access: Access, watches: OpenWatches) -> None:
        store, self._clock = writer.store, writer.clock
        self._reads = ReadVerbs(store, writer.clock, watches)
        self._writes = WriteVerbs(writer, writer.clock, access.gate)
        self._deletes = DeleteVerbs(deleter, store)
        self._reviews = ReviewVerbs(writer.admission, writer.clock, access)
        self._pods = PodActions(writer, deleter)
        self._store = store
        self._derived: dict[str, tuple[DerivedObjects, Missing | None]] = {
            "//componentstatuses/": (lambda: component_statuses(store), None)
        }

    def derive(self, kind: Kind, objects: DerivedObjects, missing: Missing | None) -> None:
        """Has objects of a kind that is not stored made by `objects`."""
        self._derived[kind.prefix] = objects, missing

    def reach_kubelet(self, kubelet: Kubelet) -> None:
        """Has `kubelet` asked what happens in containers."""
        self._pods.kubelet = kubelet

    async def answer(self, request: Request, user: User, target: Target) -> Answer:
        """Raises: Refused."""
        form = negotiate(request.headers.get("accept", ""), custom=target.kind.custom)
        presenter = Presenter(target.kind, form, request.query.get("includeObject", ""), self._clock.now())
        presenter.check()
        if target.kind.deprecation:
            warn(target.kind.deprecation)
        return await self._dispatch(Call(request, user, target, presenter))

    async def _dispatch(self, call: Call) -> Answer:
        target, method = call.target, call.request.method
        if target.name and method in ("GET", "PATCH", "DELETE"):
            _check_segment(target.name)
        if target.kind.ephemeral:
            return await self._answer_ephemeral(call)
        if target.kind.derived:
            objects, missing = self._derived[target.kind.prefix]
            return await derived.answer(call, objects, self._store.revision, missing)
        if target.watched:
            return await self._reads.watch(call)
        if target.subresource:
            return await self._answer_subresource(call)
        if target.name:
            return await self._answer_object(call)
        return await self._answer_collection(call)

    async def _answer_collection(self, call: Call) -> Answer:
        kind, method = call.kind, call.request.method
        if method == "GET":
            return await self._reads.list_or_watch(call)
        if kind.namespaced and not call.target.namespace:
            return _nowhere(kind)
        if method == "POST":
            return await self._writes.create(call)
        if method == "DELETE" and "deletecollection" in verbs_of(kind):
            return await self._deletes.delete_collection(call)
        if kind.custom and method in ("PUT", "PATCH"):
            raise errors.bad_request("name must be provided")
        raise call.not_allowed()

    async def _answer_object(self, call: Call) -> Answer:
        match call.request.method:
            case "GET":
                return await self._reads.get(call)
            case "PUT":
                return await self._writes.update(call)
            case "PATCH":
                return await self._writes.patch(call)
            case "DELETE":
                return await self._deletes.delete(call)
            case "POST" if call.kind.custom:
                return await self._writes.create(call)
            case _:
                raise call.not_allowed()

    async def _answer_subresource(self, call: Call) -> Answer:
        method, subresource = call.request.method, call.target.subresource
        if subresource not in call.kind.all_subresources:
            raise errors.not_found(call.kind.group, call.kind.plural, call.target.name)
        if subresource == "finalize":
            if method != "PUT":
                raise errors.method_not_allowed()
            return await self._writes.update(call)
        if call.kind.prefix == "//pods/" and subresource in ACTIONS:
            return await self._pods.answer(call)
        if subresource == "token":
            return await self._reviews.issue_token(call)
        if subresource == "scale":
            return await self._answer_scale(call)
        match method:
            case "GET":
                return await self._reads.get(call)
            case "PUT":
                return await self._writes.update(call)
            case "PATCH":
                return await self._writes.patch(call)
            case _:
                raise call.not_allowed()

    async def _answer_scale(self, call: Call) -> Response:
        match call.request.method:
            case "GET":
                manifest = decode_stored(call.kind, await self._reads.value(call))
                check_scalable(call.kind, manifest)
                return call.shown_scale(manifest)
            case "PUT" | "PATCH":
                return await self._writes.scale(call)
            case _:
                raise call.not_allowed()

    async def _answer_ephemeral(self, call: Call) -> Response:
        target = call.target
        if target.name or bool(target.namespace) != call.kind.namespaced:
            raise errors.found_nowhere("the server could not find the requested resource")
        if call.request.method != "POST":
            raise errors.method_not_allowed()
        if call.kind.prefix == "//bindings/":
            return await self._pods.bind(call)
        return await self._reviews.review(call)


def _check_segment(name: str) -> None:
    """Refuses names that a path cannot carry: there are no objects of such. Raises: Refused."""
    found = path_segment(name)
    if found:
        raise errors.bad_request(f"Name parameter invalid: {quoted(name)}: {';'.join(found)}")


def _nowhere(kind: Kind) -> Response:
    """The answer to writing a namespaced kind outside of a namespace."""
    if kind.custom:
        return errors.page_not_found()
    raise errors.method_not_allowed()
