"""ComponentStatuses: made when they are asked for, of what this server knows about: its store.

Kubernetes: pkg/registry/core/componentstatus, where they also tell of a scheduler and of a controller manager, which
are not this server's business.
"""

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeapi.transport import Response
from kubeserver import errors
from kubeserver.handlers.call import Call
from kubeserver.kinds.kind import Kind
from kubeserver.registry.options import list_options
from kubeserver.registry.reading import Page
from kubeserver.registry.selection import parse_selection
from kubeserver.store import Store

STORE = "etcd-0"
"""As kube-apiserver calls its own store."""


def answer(call: Call, store: Store) -> Response:
    """One of them, or all. Raises: Refused."""
    if call.request.method != "GET":
        raise errors.method_not_allowed()
    value = codec.encode(_status(call.kind, store.failure))
    if call.target.name:
        if call.target.name != STORE:
            raise errors.not_found(call.kind.group, call.kind.plural, call.target.name)
        return call.presenter.one(value)
    options = list_options(call.query)
    if options.watch:
        raise errors.method_not_allowed()
    selection = parse_selection(call.kind, options.label_selector, options.field_selector)
    return call.presenter.page(Page([value] if selection.matches(value) else [], store.revision))


def _status(kind: Kind, failure: str) -> Manifest:
    condition = {"type": "Healthy", "status": "False" if failure else "True", "message": failure or "ok"}
    said = {"error": failure} if failure else {}
    return {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": {"name": STORE, "resourceVersion": ""},
        "conditions": [{**condition, **said}],
    }
