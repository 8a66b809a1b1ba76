"""The one tree of errors for what the outside world does; foreign exceptions are mapped here once.

"Could not see" (`Unreachable`, `Undecodable`) is never "is gone" (`NotFound`).
"""

import msgspec

from kubeapi import codec
from kubeapi.status import Status
from kubeapi.text import shown_lines

MAX_STATUS_MESSAGE = 4096
"""Letters of a server's error message."""


class WorldError(Exception):
    """The outside world failed us; trying again later may help."""


class Fatal(Exception):
    """Failure of what a process stands on, which ends it; `sentence` says all that helps."""

    @property
    def sentence(self) -> str:
        return str(self)


class Unreachable(WorldError):
    """No answer: refused, cut off, or not within the deadline. Whether a write took effect is unknown."""


class Untrusted(Unreachable):
    """The server's certificate does not verify."""


class LocalFailure(Unreachable):
    """Failure of this process or its machine, or of a name look-up: of the server nothing is known. Holds: S13."""


class NameNotFound(LocalFailure):
    """Answer of a resolver that the name of the server does not exist: the resolver is wrong, or the server is gone."""


class NoCredential(WorldError):
    """Lack of our own credential, which is missing or cannot be had; nothing was sent."""


class Undecodable(WorldError):
    """An answer came that cannot be read."""


class TooLarge(Undecodable):
    """An answer is beyond a bound; it was not read to its end. That says nothing about whether the server is well."""


class ApiError(WorldError):
    """The API server said no."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message or status.reason or f"HTTP {status.code}")
        self.status = status

    @property
    def code(self) -> int:
        return self.status.code


class NotFound(ApiError):
    pass


class NotServed(NotFound):
    """404 for the path itself: its kind is not served, or not yet, and of the object nothing is known."""


class AlreadyExists(ApiError):
    pass


class Conflict(ApiError):
    """Another resourceVersion or uid than the one that was expected."""


class Expired(ApiError):
    """The resourceVersion is too old, or one that the server has yet to reach (it was restored); list again."""


class Invalid(ApiError):
    """400 or 422: trying again will not help."""


class Unauthorized(ApiError):
    pass


class Forbidden(ApiError):
    pass


class TooManyRequests(ApiError):
    @property
    def retry_after_seconds(self) -> int:
        return self.status.details.retry_after_seconds if self.status.details else 1


NOT_FOUND = 404
_BY_CODE: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}


def error_of(code: int, body: bytes) -> ApiError:
    """The exception for an answer with an error code, whether or not its body is a `Status`."""
    try:
        status = codec.decode(body, Status)
    except codec.DecodeError:
        status = Status()
    message = status.message or status.reason or body[:200].decode(errors="replace").strip()
    return error_of_status(msgspec.structs.replace(status, message=message, code=code))


def _is_about_an_object(status: Status) -> bool:
    """kube-apiserver answers a path that it does not know with a page, or names no object."""
    return status.details is not None and bool(status.details.name)


def error_of_status(status: Status) -> ApiError:
    """The exception for a `Status`. Its message is cut where it is longer than anybody reads, and what a terminal would
    act on is escaped: it goes into conditions, events and logs."""
    message = shown_lines(status.message[:MAX_STATUS_MESSAGE])
    if len(status.message) > MAX_STATUS_MESSAGE:
        message = f"{message}... ({len(status.message)} letters)"
    if message != status.message:
        status = msgspec.structs.replace(status, message=message)
    if status.reason == "AlreadyExists":
        return AlreadyExists(status)
    if status.details and any(cause.reason == "ResourceVersionTooLarge" for cause in status.details.causes):
        return Expired(status)
    if status.code == NOT_FOUND and not _is_about_an_object(status):
        return NotServed(status)
    return _BY_CODE.get(status.code, ApiError)(status)


def told_of(error: Exception) -> str:
    """`connection refused`, without the number and the address that the operating system's call adds."""
    refused = isinstance(error, ConnectionRefusedError)
    return "connection refused" if refused else str(error) or type(error).__name__
