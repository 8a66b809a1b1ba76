"""The verbs that delete: one object, or what is selected of a collection."""

from dataclasses import dataclass
from typing import Any

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeapi.status import Status, StatusDetails
from kubeapi.transport import Response
from kubeserver import errors
from kubeserver.handlers.call import Call
from kubeserver.kinds.kind import Kind
from kubeserver.registry.deleting import Deleter, delete_options
from kubeserver.registry.objects import decode_stored
from kubeserver.registry.options import list_options
from kubeserver.registry.reading import read_page
from kubeserver.registry.selection import parse_selection
from kubeserver.store import Store

_SELECTION_OPTIONS = ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch")
"""Options that say which objects of a collection are deleted."""


@dataclass(frozen=True, slots=True)
class DeleteVerbs:
    """Verbs that delete; both raise: Refused."""

    deleter: Deleter
    store: Store

    async def delete(self, call: Call) -> Response:
        target = call.target
        options = delete_options(call.request.body, dict(call.query), call.content_type)
        written = await self.deleter.delete(target.kind, target.namespace, target.name, options, call.user)
        if written.deleted and not target.kind.returns_deleted:
            return call.presenter.respond(codec.encode(_deleted_status(target.kind, written.manifest)))
        return await call.shown(written)

    async def delete_collection(self, call: Call) -> Response:
        """Deletes what is selected, one by one; objects that went meanwhile are passed over."""
        kind, namespace = call.kind, call.target.namespace
        chosen = list_options({key: call.query[key] for key in _SELECTION_OPTIONS if key in call.query})
        selection = parse_selection(kind, chosen.label_selector, chosen.field_selector)
        options = delete_options(call.request.body, dict(call.query), call.content_type)
        page = await read_page(self.store, kind, namespace, selection, chosen)
        for value in page.values:
            metadata = decode_stored(kind, value)["metadata"]
            try:
                await self.deleter.delete(kind, metadata.get("namespace", ""), metadata["name"], options, call.user)
            except errors.Refused as refusal:
                if refusal.status.code != 404:
                    raise
        return await call.presenter.page(page)


def _deleted_status(kind: Kind, manifest: Manifest) -> dict[str, Any]:
    metadata = manifest["metadata"]
    details = StatusDetails(name=metadata["name"], group=kind.group, kind=kind.plural, uid=metadata["uid"])
    return {
        key: value
        for key, value in errors.render_status(Status(status="Success", details=details)).items()
        if key != "code"
    }
