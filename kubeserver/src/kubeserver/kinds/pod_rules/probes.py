"""Probes and lifecycle handlers of containers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import named, not_negative, one_of, port, port_number
from kubeserver.values import entries, section

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_OF_PROBE = ("exec", "httpGet", "tcpSocket", "grpc")
_OF_LIFECYCLE = ("exec", "httpGet", "tcpSocket", "sleep")
_HEADER = re.compile(r"[-A-Za-z0-9]+")


def probe_problems(container: Mapping[str, Any], grace_seconds: int, path: str) -> Iterator[Problem]:
    for name in ("postStart", "preStop"):
        handler = section(container, "lifecycle").get(name)
        if handler is not None:
            yield from _handler_problems(handler, _OF_LIFECYCLE, grace_seconds, f"{path}.lifecycle.{name}")
    for name in PROBES:
        if container.get(name) is not None:
            yield from _one_probe(container[name], name, grace_seconds, f"{path}.{name}")


def _one_probe(probe: Mapping[str, Any], name: str, grace_seconds: int, path: str) -> Iterator[Problem]:
    yield from _handler_problems(probe, _OF_PROBE, grace_seconds, path)
    for field in _COUNTS:
        yield from not_negative(probe.get(field, 0), f"{path}.{field}")
    where, own = f"{path}.terminationGracePeriodSeconds", probe.get("terminationGracePeriodSeconds")
    if own is not None and own <= 0:
        yield Problem.invalid(where, own, "must be greater than 0")
    if name == "readinessProbe":
        if own is not None:
            yield Problem.invalid(where, own, "must not be set for readinessProbes")
    elif probe.get("successThreshold", 1) != 1:
        yield Problem.invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _handler_problems(
    holder: Mapping[str, Any], kinds: tuple[str, ...], grace_seconds: int, path: str
) -> Iterator[Problem]:
    given = [name for name in kinds if name in holder]
    if not given:
        yield Problem.required(path, "must specify a handler type")
        return
    yield from _action_problems(given[0], section(holder, given[0]), grace_seconds, f"{path}.{given[0]}")
    yield from (Problem.forbidden(f"{path}.{name}", "may not specify more than 1 handler type") for name in given[1:])


def _action_problems(name: str, action: Mapping[str, Any], grace_seconds: int, path: str) -> Iterator[Problem]:
    match name:
        case "exec":
            if not action.get("command"):
                yield Problem.required(f"{path}.command")
        case "httpGet":
            yield from _http_problems(action, path)
        case "tcpSocket":
            yield from port(action.get("port", 0), f"{path}.port")
        case "grpc":
            yield from port_number(action.get("port", 0), f"{path}.port")
        case _:
            seconds = action.get("seconds", 0)
            if not 0 <= seconds <= grace_seconds:
                said = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_seconds})"
                yield Problem.invalid(path, seconds, said)


def _http_problems(action: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if not action.get("path"):
        yield Problem.required(f"{path}.path")
    yield from port(action.get("port", 0), f"{path}.port")
    yield from one_of(action.get("scheme"), ("HTTP", "HTTPS"), f"{path}.scheme")
    for header in entries(action, "httpHeaders"):
        yield from named(_header_name, header.get("name", ""), f"{path}.httpHeaders")


def _header_name(name: str) -> list[str]:
    if _HEADER.fullmatch(name):
        return []
    return [
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
        "validation is '[-A-Za-z0-9]+')"
    ]
