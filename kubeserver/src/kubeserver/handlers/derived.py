"""Objects that are made when they are asked for, and stored nowhere: one of them, or those that are selected."""

from collections.abc import Callable, Iterable

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeapi.transport import Response
from kubeserver import errors
from kubeserver.handlers.call import Call
from kubeserver.registry.options import list_options
from kubeserver.registry.reading import Page
from kubeserver.registry.selection import parse_selection

DerivedObjects = Callable[[], Iterable[Manifest]]
"""All objects of one kind, as they are now, with apiVersion and kind."""
Missing = Callable[[str, str], errors.Refused]
"""Refusal for an object that is not there, by namespace and name."""


async def answer(call: Call, objects: DerivedObjects, revision: int, missing: Missing | None = None) -> Response:
    """Raises: Refused."""
    if call.request.method != "GET":
        raise errors.method_not_allowed()
    namespace, name = call.target.namespace, call.target.name
    there = [o for o in objects() if not namespace or o["metadata"].get("namespace") == namespace]
    if name:
        found = next((each for each in there if each["metadata"]["name"] == name), None)
        if found is None and missing is not None:
            raise missing(namespace, name)
        if found is None:
            raise errors.not_found(call.kind.group, call.kind.plural, name)
        return call.presenter.one(codec.encode(found))
    options = list_options(call.query)
    if options.watch:
        raise errors.method_not_allowed()
    selection = parse_selection(call.kind, options.label_selector, options.field_selector)
    values = [codec.encode(manifest) for manifest in there]
    return await call.presenter.page(Page([value for value in values if selection.matches(value)], revision))
