"""One request for objects, with what is known about it, and the answer that shows what was written."""

from collections.abc import Mapping

from msgspec import Struct, structs

from kubeapi import codec
from kubeapi.meta import ReadOnlyManifest
from kubeapi.transport import Request, Response
from kubeserver import errors
from kubeserver.handler import User
from kubeserver.handlers.presenting import Presenter
from kubeserver.kinds.kind import Kind
from kubeserver.registry.conversion import show_one
from kubeserver.registry.managing import manager_name
from kubeserver.registry.objects import encode_unstored
from kubeserver.registry.scaling import SCALE_KIND, render_scale
from kubeserver.registry.writing import Written
from kubeserver.routing import Target

_UNSUPPORTED = {"DELETE": "delete", "POST": "create"}


class Call(Struct, frozen=True):
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
    def manager(self) -> str:
        return manager_name(self.request.query, self.request.headers)

    @property
    def content_type(self) -> str:
        return self.request.headers.get("content-type", "")

    def not_allowed(self) -> errors.Refused:
        """The refusal of the method; custom kinds name the verb, if it is one."""
        kind = self.kind
        if kind.custom:
            return errors.verb_not_supported(kind.group, kind.plural, _UNSUPPORTED.get(self.request.method, ""))
        return errors.method_not_allowed()

    async def shown(self, written: Written, code: int = 200) -> Response:
        if written.record is not None and not written.deleted:
            return self.presenter.one(await show_one(self.kind, written.record), code)
        return self.presenter.one(encode_unstored(self.kind, written.manifest), code)

    def shown_scale(self, manifest: ReadOnlyManifest) -> Response:
        """The Scale of an object."""
        return structs.replace(self.presenter, kind=SCALE_KIND).one(codec.encode(render_scale(self.kind, manifest)))
