"""The bounds of a LimitRange, held against what claims, containers and Pods want. Pure.

Kubernetes: plugin/pkg/admission/limitranger; the same words. What an update leaves as it is may be outside of bounds
that came later.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from kubeapi.meta import ReadOnlyManifest
from kubeapi.quantity import format_quantity, is_binary, parse_quantity
from kubeserver.values import entries, section

_OF_WHOLE_PODS = ("cpu", "memory")

Limit = Mapping[str, Any]
"""One entry of `spec.limits`."""
Amounts = Mapping[str, str]
Wanted = tuple[Amounts, Amounts]
"""Requests and limits."""


def claim_faults(limit: Limit, claim: ReadOnlyManifest, old: ReadOnlyManifest | None) -> Iterator[str]:
    """A claim has requests alone."""
    if limit.get("type") == "PersistentVolumeClaim":
        wanted, before = _claimed(claim), _claimed(old or {})
        for name, bound in _bounds(limit, "min"):
            if not _is_same(name, wanted, before, old):
                yield from _too_little(limit["type"], name, bound, (wanted[0], {}))
        for name, bound in _bounds(limit, "max"):
            if not _is_same(name, wanted, before, old):
                yield from _too_much_requested(limit["type"], name, bound, wanted[0])


def _claimed(claim: ReadOnlyManifest) -> Wanted:
    return section(section(section(claim, "spec"), "resources"), "requests"), {}


def pod_faults(limit: Limit, spec: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    match limit.get("type"):
        case "Container":
            for field in ("containers", "initContainers"):
                before = {container.get("name"): container for container in entries(old, field)}
                for container in entries(spec, field):
                    known = before.get(container.get("name"))
                    yield from _faults(limit, _wanted(container), _wanted(known or {}), known)
        case "Pod":
            yield from _faults(limit, _of_whole_pod(spec), _of_whole_pod(old), old or None)
        case _:
            return


def _wanted(holder: Mapping[str, Any]) -> Wanted:
    resources = section(holder, "resources")
    return section(resources, "requests"), section(resources, "limits")


def _faults(limit: Limit, wanted: Wanted, before: Wanted, old: Any) -> Iterator[str]:
    rules = (("min", _too_little), ("max", _too_much), ("maxLimitRequestRatio", _too_far_apart))
    for field, rule in rules:
        for name, bound in _bounds(limit, field):
            if not _is_same(name, wanted, before, old):
                yield from rule(limit["type"], name, bound, wanted)


def _bounds(limit: Limit, field: str) -> list[tuple[str, str]]:
    return sorted((name, str(bound)) for name, bound in section(limit, field).items())


def _is_same(name: str, wanted: Wanted, before: Wanted, old: Any) -> bool:
    return old is not None and all(
        _amount(new.get(name)) == _amount(known.get(name)) for new, known in zip(wanted, before, strict=True)
    )


def _amount(quantity: str | None) -> Decimal | None:
    return None if quantity is None else parse_quantity(quantity)


def _too_little(kind: str, name: str, bound: str, wanted: Wanted) -> Iterator[str]:
    request, most = (amounts.get(name) for amounts in wanted)
    start, least = f"minimum {name} usage per {kind} is {bound}", parse_quantity(bound)
    if request is None:
        yield f"{start}.  No request is specified"
    elif parse_quantity(request) < least:
        yield f"{start}, but request is {request}"
    elif most is not None and parse_quantity(most) < least:
        yield f"{start}, but limit is {most}"


def _too_much(kind: str, name: str, bound: str, wanted: Wanted) -> Iterator[str]:
    request, most = (amounts.get(name) for amounts in wanted)
    start, highest = f"maximum {name} usage per {kind} is {bound}", parse_quantity(bound)
    if most is None:
        yield f"{start}.  No limit is specified"
    elif parse_quantity(most) > highest:
        yield f"{start}, but limit is {most}"
    elif request is not None and parse_quantity(request) > highest:
        yield f"{start}, but request is {request}"


def _too_much_requested(kind: str, name: str, bound: str, requests: Amounts) -> Iterator[str]:
    request, start = requests.get(name), f"maximum {name} usage per {kind} is {bound}"
    if request is None:
        yield f"{start}.  No request is specified"
    elif parse_quantity(request) > parse_quantity(bound):
        yield f"{start}, but request is {request}"


def _too_far_apart(kind: str, name: str, bound: str, wanted: Wanted) -> Iterator[str]:
    request, most = (_amount(amounts.get(name)) for amounts in wanted)
    start = f"{name} max limit to request ratio per {kind} is {bound}"
    if not request:
        yield f"{start}, but no request is specified or request is 0"
    elif not most:
        yield f"{start}, but no limit is specified or limit is 0"
    elif most > parse_quantity(bound) * request:
        yield f"{start}, but provided ratio is {most / request:.6f}"


def _of_whole_pod(spec: Mapping[str, Any]) -> Wanted:
    """Wishes of all containers together, unless the Pod as a whole says it."""
    whole = _wanted(spec)
    return _together(spec, whole, 0), _together(spec, whole, 1)


def _together(spec: Mapping[str, Any], whole: Wanted, which: int) -> Amounts:
    """Init containers run one after the other before the rest, but for those that stay beside what follows them."""
    total, beside, peak = dict[str, str](), dict[str, str](), dict[str, str]()
    for container in entries(spec, "containers"):
        total = _added(total, _wanted(container)[which])
    for container in entries(spec, "initContainers"):
        own = _wanted(container)[which]
        if container.get("restartPolicy") == "Always":
            total, beside = _added(total, own), _added(beside, own)
            peak = _greater(peak, beside)
        else:
            peak = _greater(peak, _added(beside, own))
    said = {name: amount for name, amount in whole[which].items() if name in _OF_WHOLE_PODS}
    return {**_greater(total, peak), **said}


def _added(amounts: Amounts, more: Amounts) -> dict[str, str]:
    return {**amounts, **{name: _sum(amounts.get(name), amount) for name, amount in more.items()}}


def _sum(amount: str | None, more: str) -> str:
    if amount is None:
        return more
    return format_quantity(parse_quantity(amount) + parse_quantity(more), is_binary(amount))


def _greater(amounts: Amounts, others: Amounts) -> dict[str, str]:
    found = dict(amounts)
    for name, amount in others.items():
        if name not in found or parse_quantity(amount) > parse_quantity(found[name]):
            found[name] = amount
    return found
