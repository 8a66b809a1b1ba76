"""The rules of what speaks of amounts: claims to storage, quotas, limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.quantity import parse_quantity
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.resources import is_standard
from kubeserver.kinds.pod_rules.texts import named, one_of
from kubeserver.kinds.quota_scopes import scope_problems
from kubeserver.names import dns_subdomain, qualified_name
from kubeserver.values import entries, section, texts

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_BOUNDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_MIN, _MAX, _LIMIT = ("min", "min"), ("max", "max"), ("default", "default")
_REQUEST = ("defaultRequest", "default request")
_ORDERED_PAIRS = (
    ("min", _MIN, _MAX),
    ("defaultRequest", _MIN, _REQUEST),
    ("defaultRequest", _REQUEST, _MAX),
    ("defaultRequest", _REQUEST, ("default", "default limit")),
    ("default", _MIN, _LIMIT),
    ("default", _LIMIT, _MAX),
)
"""Pairs of which the first may not be greater than the second: the field that is named, then both with their words."""


def validate_claim(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems: list[Problem] = []
    if not spec.get("accessModes"):
        problems.append(Problem.required("spec.accessModes", "at least 1 access mode is required"))
    for mode in texts(spec, "accessModes"):
        problems += one_of(mode, _ACCESS_MODES, "spec.accessModes")
    wanted = section(section(spec, "resources"), "requests").get("storage")
    if wanted is None:
        problems.append(Problem.required("spec.resources[storage]"))
    elif parse_quantity(wanted) <= 0:
        problems.append(Problem.invalid("spec.resources[storage]", wanted, "must be greater than zero"))
    if spec.get("storageClassName"):
        problems += named(dns_subdomain, spec["storageClassName"], "spec.storageClassName")
    if old is not None and not is_equal(_kept(manifest, old), _kept(old, old)):
        said = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        problems.append(Problem.forbidden("spec", said))
    if old is not None and wanted is not None:
        problems += _shrunk(wanted, old)
    return problems


def _shrunk(wanted: str, old: ReadOnlyManifest) -> Iterator[Problem]:
    """A claim may ask for less again, but not for less than it has."""
    before = section(section(section(old, "spec"), "resources"), "requests").get("storage", "0")
    has = section(section(old, "status"), "capacity").get("storage", "0")
    if parse_quantity(wanted) < parse_quantity(before) and parse_quantity(wanted) <= parse_quantity(has):
        yield Problem.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")


def _kept(claim: ReadOnlyManifest, old: ReadOnlyManifest) -> dict[str, Any]:
    """Fields that may not change: the amount may while the claim is bound, and the volume as long as there is none."""
    bound = section(old, "status").get("phase") == "Bound"
    free = {"volumeAttributesClassName", *(("resources",) if bound else ())}
    if not section(old, "spec").get("volumeName"):
        free.add("volumeName")
    return {field: value for field, value in section(claim, "spec").items() if field not in free}


def validate_quota(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems: list[Problem] = []
    for name, quantity in section(spec, "hard").items():
        where = f"spec.hard[{name}]"
        problems += _name_problems(name, where, "must be a standard resource for quota")
        if parse_quantity(quantity) < 0:
            problems.append(Problem.invalid(where, quantity, "must be greater than or equal to 0"))
    scopes = texts(spec, "scopes")
    problems += scope_problems(spec)
    if old is not None and scopes != texts(section(old, "spec"), "scopes"):
        problems.append(Problem.invalid("spec.scopes", scopes, "field is immutable"))
    return problems


def default_limits(manifest: Manifest) -> None:
    """Containers get their greatest amount where no limit is the usual one, and the limit or the least as a request."""
    for limit in entries(section(manifest, "spec"), "limits"):
        if limit.get("type") == "Container":
            usual = {**section(limit, "max"), **section(limit, "default")}
            requested = {**section(limit, "min"), **usual, **section(limit, "defaultRequest")}
            limit.update({key: value for key, value in (("default", usual), ("defaultRequest", requested)) if value})


def validate_limits(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    seen: set[str] = set()
    problems: list[Problem] = []
    for index, limit in enumerate(entries(section(manifest, "spec"), "limits")):
        where, kind = f"spec.limits[{index}]", limit.get("type", "")
        problems += named(qualified_name, kind, f"{where}.type")
        if kind in seen:
            problems.append(Problem(f"{where}.type", "FieldValueDuplicate", f'Duplicate value: "{kind}"'))
        seen.add(kind)
        if kind == "Pod":
            said = "may not be specified when `type` is 'Pod'"
            problems += [Problem.forbidden(f"{where}.{f}", said) for f in ("default", "defaultRequest") if limit.get(f)]
        problems += _bound_problems(limit, where)
        if kind == "PersistentVolumeClaim" and not any("storage" in section(limit, bound) for bound in ("min", "max")):
            said = "either minimum or maximum storage value is required, but neither was provided"
            problems.append(Problem.required(f"{where}.limits", said))
    return problems


def _bound_problems(limit: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for name in dict.fromkeys(name for bound in _BOUNDS for name in section(limit, bound)):
        for where, (low, low_said), (high, high_said) in _ORDERED_PAIRS:
            least, most = section(limit, low).get(name), section(limit, high).get(name)
            if least is not None and most is not None and parse_quantity(least) > parse_quantity(most):
                said = f"{low_said} value {least} is greater than {high_said} value {most}"
                yield Problem.invalid(f"{path}.{where}[{name}]", section(limit, where)[name], said)
        yield from _ratio_problems(limit, name, f"{path}.maxLimitRequestRatio[{name}]")


def _ratio_problems(limit: Mapping[str, Any], name: str, path: str) -> Iterator[Problem]:
    ratio, least, most = (section(limit, field).get(name) for field in ("maxLimitRequestRatio", "min", "max"))
    if ratio is None:
        return
    if parse_quantity(ratio) < 1:
        yield Problem.invalid(path, ratio, f"ratio {ratio} is less than 1")
    if least is not None and most is not None and parse_quantity(least) > 0:
        widest = parse_quantity(most) / parse_quantity(least)
        if parse_quantity(ratio) > widest:
            yield Problem.invalid(path, ratio, f"ratio {ratio} is greater than max/min = {widest:.6f}")


def _name_problems(name: str, path: str, said: str) -> Iterator[Problem]:
    yield from named(qualified_name, name, path)
    if "/" not in name and not is_standard(name):
        yield Problem.invalid(path, name, "must be a standard resource type or fully qualified")
        yield Problem.invalid(path, name, said)
