"""Attributes of a request, as rules speak of it: a verb on a resource, or on a path that is no resource.

Reads the path alone, so that the answer to a forbidden request does not depend on what is installed. It cuts a path
as `routing.route` does: what is authorized is what is carried out.
"""

from dataclasses import dataclass

from kubeapi.transport import Request
from kubeserver.routing import WATCH
from kubeserver.values import is_set

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_NAMESPACES = ("status", "finalize")
_NAME_SELECTOR = "metadata.name="


@dataclass(frozen=True, slots=True)
class Attributes:
    """`path` is set, and `resource` empty, where it is no resource that is asked for."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """`pods/log`"""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def attributes_of(request: Request) -> Attributes:
    """A method that is not one of a resource has no verb there."""
    verb = _VERBS.get(request.method, "")
    parts = [part for part in request.path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        return _of_resource(request, verb, "", parts[2:])
    if parts[:1] == ["apis"] and len(parts) > 3:
        return _of_resource(request, verb, parts[1], parts[3:])
    return Attributes(verb or request.method.lower(), path=request.path)


def is_watch(request: Request) -> bool:
    """Tells whether the answer goes on until somebody ends it."""
    may_be = WATCH in request.query or f"/{WATCH}/" in request.path
    return may_be and attributes_of(request).verb == WATCH


def _of_resource(request: Request, verb: str, group: str, parts: list[str]) -> Attributes:
    watched = parts[0] == WATCH and len(parts) > 1
    if watched:
        verb, parts = WATCH, parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _OF_NAMESPACES:
            parts = parts[2:]
    resource, name, subresource = (*parts, "", "")[:3]
    if not name and not watched:
        verb, name = _collective(verb, request)
    return Attributes(verb, group, resource, subresource, namespace, name)


def _collective(verb: str, request: Request) -> tuple[str, str]:
    """The verb on a collection, and the one name that a list or watch is narrowed to."""
    if verb == "delete":
        return "deletecollection", ""
    if verb != "get":
        return verb, ""
    return "watch" if is_set(request.query, "watch") else "list", _selected_name(request.query.get("fieldSelector", ""))


def _selected_name(selector: str) -> str:
    for term in selector.split(","):
        name = term.strip().removeprefix(_NAME_SELECTOR).removeprefix("=")
        if term.strip().startswith(_NAME_SELECTOR) and name:
            return name
    return ""
