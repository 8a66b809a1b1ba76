"""`authorizer` in expressions: what whoever asks, or a service account, may do.

    authorizer.group('apps').resource('deployments').namespace('default').check('create').allowed()
    authorizer.path('/healthz').check('get').allowed()          authorizer.requestResource.check('delete').reason()

As all values of types of Kubernetes' own, each of these steps is a map. Who decides is bound to the context of the
evaluation (`authorizing`); a decision costs more than any other function, so their number is bounded.

Kubernetes: apiserver/pkg/cel/library/authz; the same. Differs: a decision cannot fail here, so `errored` and `error`
are missing, as are field and label selectors of a check.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from kubeserver.cel.function import Function

MAX_CHECKS = 100
"""Most checks in one evaluation."""

Ask = Callable[[str, Mapping[str, str]], tuple[bool, str]]
"""Function from a verb, and what it is about, to whether that is allowed, and why.

It is about a `path`, or about `group`, `resource`, `subresource`, `namespace` and `name`, as far as they were said;
`subject` is `NAMESPACE/NAME` of a service account, or empty for whoever asks.
"""


@dataclass(slots=True)
class _Asking:
    ask: Ask
    left: int = MAX_CHECKS


_asking: ContextVar[_Asking | None] = ContextVar("asking", default=None)


@contextmanager
def authorizing(ask: Ask) -> Generator[None]:
    """Lets `ask` decide within."""
    token = _asking.set(_Asking(ask))
    try:
        yield
    finally:
        _asking.reset(token)


def authorizer_of(request: Mapping[str, str]) -> dict[str, Any]:
    """The value of the variable; `request` is what the request itself is about."""
    return {"subject": "", "requestResource": {"subject": "", **request}}


def _about(value: Mapping[str, Any], key: str, said: str, *needed: str) -> Mapping[str, Any]:
    if not all(each in value for each in needed):
        raise ValueError(f"{key} cannot be said here")
    return {**{name: each for name, each in value.items() if name != "requestResource"}, key: said}


def _service_account(value: Mapping[str, Any], namespace: str, name: str) -> Mapping[str, Any]:
    if "requestResource" not in value:
        raise ValueError("serviceAccount cannot be said here")
    return {"subject": f"{namespace}/{name}"}


def _check(value: Mapping[str, Any], verb: str) -> Mapping[str, Any]:
    asking = _asking.get()
    if asking is None or not ("path" in value or "resource" in value):
        raise ValueError("there is nothing to check")
    asking.left -= 1
    if asking.left < 0:
        raise ValueError(f"call cost exceeds limit: more than {MAX_CHECKS} checks of the authorizer")
    allowed, reason = asking.ask(verb, value)
    return {"allowed": allowed, "reason": reason}


def _is_allowed(decision: Mapping[str, Any]) -> bool:
    return _decided(decision)["allowed"]


def _reason(decision: Mapping[str, Any]) -> str:
    return _decided(decision)["reason"]


def _decided(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if "allowed" not in value:
        raise ValueError("is no decision of the authorizer")
    return value


def _sayer(name: str, *needed: str) -> Function:
    def say(value: Mapping[str, Any], said: str) -> Mapping[str, Any]:
        return _about(value, name, said, *needed)

    return Function(name, "typed map string", say)


AUTHORIZER_FUNCTIONS = (
    Function("serviceAccount", "typed map string string", _service_account),
    _sayer("path", "subject"),
    _sayer("group", "subject"),
    _sayer("resource", "group"),
    _sayer("subresource", "resource"),
    _sayer("namespace", "resource"),
    _sayer("name", "resource"),
    Function("check", "typed map string", _check),
    Function("allowed", "bool map", _is_allowed),
    Function("reason", "string map", _reason),
)
