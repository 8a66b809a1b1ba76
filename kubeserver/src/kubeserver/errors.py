"""The ways in which the API server says no: one exception that carries a `metav1.Status`, and its forms.

The messages are those that kubectl and client libraries know how to read.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kubeapi import codec
from kubeapi.status import MOST_QUOTED, Problem, Status, StatusCause, StatusDetails
from kubeapi.text import shortened
from kubeapi.transport import Response
from kubeserver.serialization.yaml import dump_yaml

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
YAML = "application/yaml"

MAX_WARNED, MAX_WARNED_EACH = 4096, 256
"""Letters of all warnings of one answer, and of each where they are more than that. As in Kubernetes."""
MAX_MESSAGE, MAX_CAUSES, MAX_CAUSE = 16 * 1024, 100, 2048
"""Letters of a refusal, causes that it names, and letters of each: it may quote names, values and rules of others."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_GENERIC = StatusDetails()


class Refused(Exception):
    """Ends a request with `status` as its answer."""

    def __init__(self, status: Status, headers: Mapping[str, str] | None = None) -> None:
        status = _fit(status)
        super().__init__(status.message)
        self.status = status
        self.headers = headers or {}


def _fit(status: Status) -> Status:
    """The status within the bounds of a refusal."""
    details = status.details
    if details is not None:
        name, group, kind = (shortened(text, MOST_QUOTED) for text in (details.name, details.group, details.kind))
        causes = tuple(map(_fit_cause, details.causes[:MAX_CAUSES]))
        details = replace(details, name=name, group=group, kind=kind, causes=causes)
    return replace(status, message=shortened(status.message, MAX_MESSAGE), details=details)


def _fit_cause(cause: StatusCause) -> StatusCause:
    return StatusCause(cause.reason, shortened(cause.message, MAX_CAUSE), shortened(cause.field, MOST_QUOTED))


class Unconvertible(Refused):
    """An object cannot be shown, or stored, in the version that it takes."""


def unconvertible(message: str) -> Unconvertible:
    return Unconvertible(Status(message=message, code=500))


def refused_with_warnings(refused: Refused, warnings: Sequence[str]) -> Refused:
    return Refused(refused.status, {**refused.headers, **warning_header(warnings)})


def warning_header(warnings: Sequence[str]) -> dict[str, str]:
    """One header of several values. What no header can say is left out; of very much, each is cut and the last go."""
    said = [text for text in dict.fromkeys(warnings) if _CONTROL.search(text) is None]
    if sum(map(len, said)) > MAX_WARNED:
        said = [text[:MAX_WARNED_EACH] for text in said[: MAX_WARNED // MAX_WARNED_EACH]]
    return {"warning": ", ".join(f"299 - {_quoted(text)}" for text in said)} if said else {}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def render_status(status: Status) -> dict[str, Any]:
    """The Status as it goes over the wire; empty fields are left out, but `metadata` stays."""
    wire = codec.to_wire(status)
    return {key: value for key, value in wire.items() if value not in ("", None)}


def status_response(status: Status, headers: Mapping[str, str] | None = None, accept: str = "") -> Response:
    """Answer with a Status, in YAML where the client asked for nothing but that."""
    wire = render_status(status)
    if accept.partition(";")[0].strip() == YAML:
        return Response(status.code, dump_yaml(wire), {"content-type": YAML, **(headers or {})})
    return Response(status.code, codec.encode(wire), {"content-type": JSON, **(headers or {})})


def page_not_found() -> Response:
    return Response(404, b"404 page not found\n", {"content-type": TEXT})


def bad_request(message: str) -> Refused:
    return _refused(400, "BadRequest", message)


def unauthorized() -> Refused:
    return _refused(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, plural: str, name: str, why: str) -> Refused:
    message = f'{_group_resource(group, plural)} "{name}" is forbidden: {why}'
    return _refused(403, "Forbidden", message, StatusDetails(name=name, group=group, kind=plural))


def denied(group: str, plural: str, name: str, why: str, reason: str, code: int) -> Refused:
    """Refusal by a policy, with the reason and the code that it wants."""
    message = f'{_group_resource(group, plural)} "{name}" is forbidden: {why}'
    details = StatusDetails(name=name, group=group, kind=plural, causes=(StatusCause(message=why),))
    return _refused(code, reason, message, details)


def unknown_path() -> Refused:
    return _refused(404, "NotFound", "the server could not find the requested resource", _GENERIC)


def not_found(group: str, plural: str, name: str) -> Refused:
    message = f'{_group_resource(group, plural)} "{name}" not found'
    return _refused(404, "NotFound", message, StatusDetails(name=name, group=group, kind=plural))


def verb_not_supported(group: str, plural: str, verb: str) -> Refused:
    message = f'{verb} is not supported on resources of kind "{_group_resource(group, plural)}"'
    return _refused(405, "MethodNotAllowed", message, StatusDetails(group=group, kind=plural))


def method_not_allowed() -> Refused:
    message = "the server does not allow this method on the requested resource"
    return _refused(405, "MethodNotAllowed", message, _GENERIC)


def method_not_supported(message: str) -> Refused:
    return _refused(405, "MethodNotAllowed", message, _GENERIC)


def found_nowhere(message: str) -> Refused:
    """Refusal where it is not one place that does not have it."""
    return _refused(404, "NotFound", message, _GENERIC)


def ambiguous(message: str) -> Refused:
    return _refused(409, "Conflict", message, _GENERIC)


def not_acceptable(accepted: Iterable[str], *, known: bool = True) -> Refused:
    """`known`: the media type is one that is spoken, but not in the form that was asked for."""
    if not known:
        said = f"406: Not Acceptable\n\nAvailable representations: {', '.join(accepted)}"
        return _refused(406, "NotAcceptable", said, _GENERIC)
    return _refused(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(accepted)}")


def not_shown(message: str) -> Refused:
    """One object cannot be shown as a list of them, nor a list as one."""
    return _refused(406, "NotAcceptable", message)


def already_exists(group: str, plural: str, name: str) -> Refused:
    message = f'{_group_resource(group, plural)} "{name}" already exists'
    return _refused(409, "AlreadyExists", message, StatusDetails(name=name, group=group, kind=plural))


def conflict(group: str, plural: str, name: str, why: str = "") -> Refused:
    """Raised for a resourceVersion, uid or state other than the one that the writer expected."""
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {_group_resource(group, plural)} "{name}": {why}'
    return _refused(409, "Conflict", message, StatusDetails(name=name, group=group, kind=plural))


def expired(message: str) -> Refused:
    return _refused(410, "Expired", message)


def too_large(message: str) -> Refused:
    return _refused(413, "RequestEntityTooLarge", message)


def unsupported_media_type(accepted: Sequence[str] = ()) -> Refused:
    """Refusal of a media type; with `accepted`, the answer says what would do."""
    if not accepted:
        return _refused(415, "UnsupportedMediaType", "415: Unsupported Media Type", _GENERIC)
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return _refused(415, "UnsupportedMediaType", message)


def invalid(group: str, kind: str, name: str, problems: Sequence[Problem]) -> Refused:
    """422 that names every wrong field."""
    causes = tuple(StatusCause(problem.kind, problem.message, problem.field) for problem in problems)
    details = StatusDetails(name=name, group=group, kind=kind, causes=causes)
    return _refused(422, "Invalid", f'{_group_resource(group, kind)} "{name}" is invalid: {joined(problems)}', details)


def joined(problems: Iterable[Problem]) -> str:
    """Problems in one line, each once; in brackets where there are several."""
    texts = list(dict.fromkeys(str(problem) for problem in problems))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def rejected_patch() -> Refused:
    """The answer to a JSON patch that cannot be applied. Like kube-apiserver, it does not say why."""
    return _refused(422, "Invalid", "the server rejected our request due to an error in our request", _GENERIC)


def internal_error(message: str) -> Refused:
    details = StatusDetails(causes=(StatusCause(message=message),))
    return _refused(500, "InternalError", f"Internal error occurred: {message}", details)


def plain_error(message: str, code: int = 500) -> Refused:
    """An answer without a reason."""
    return _refused(code, "", message)


def broken_version(text: str, field: str = "") -> Refused:
    """The answer to a resourceVersion that is no number, outside of lists."""
    problem = f'strconv.ParseUint: parsing "{text}": invalid syntax'
    message = f'{field}: Invalid value: "{text}": {problem}' if field else problem
    return _refused(500, "", message)


def version_at_birth() -> Refused:
    return _refused(500, "", "resourceVersion should not be set on objects to be created")


def unavailable(message: str) -> Refused:
    return _refused(503, "ServiceUnavailable", message)


def disruption_refused(message: str, why: str, retry_seconds: int) -> Refused:
    cause = StatusCause("DisruptionBudget", why)
    details = StatusDetails(causes=(cause,), retry_after_seconds=retry_seconds)
    headers = {"retry-after": str(retry_seconds)} if retry_seconds else None
    return _refused(429, "TooManyRequests", message, details, headers)


def future_version(asked: int, current: int) -> Refused:
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    cause = StatusCause("ResourceVersionTooLarge", "Too large resource version")
    details = StatusDetails(causes=(cause,), retry_after_seconds=1)
    return _refused(504, "Timeout", message, details, {"retry-after": "1"})


def _refused(
    code: int,
    reason: str,
    message: str,
    details: StatusDetails | None = None,
    headers: Mapping[str, str] | None = None,
) -> Refused:
    return Refused(Status(message=message, reason=reason, details=details, code=code), headers)


def _group_resource(group: str, name: str) -> str:
    return f"{name}.{group}" if group else name
