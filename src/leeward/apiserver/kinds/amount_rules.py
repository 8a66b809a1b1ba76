"""The rules of what speaks of amounts: claims to storage, quotas, limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from leeward.api.meta import Manifest
from leeward.api.quantity import parse_quantity
from leeward.api.status import Problem
from leeward.apiserver.kinds.names import dns_subdomain, qualified_name
from leeward.apiserver.kinds.pod_rules.resources import is_standard
from leeward.apiserver.kinds.pod_rules.texts import named, one_of
from leeward.apiserver.kinds.quota_scopes import scope_problems
from leeward.apiserver.values import entries, section, texts

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_BOUNDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


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
    if old is not None and _kept(spec) != _kept(section(old, "spec")):
        said = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        problems.append(Problem.forbidden("spec", said))
    return problems


def _kept(spec: Mapping[str, Any]) -> dict[str, Any]:
    free = ("resources", "volumeAttributesClassName", "volumeName")
    return {field: value for field, value in spec.items() if field not in free}


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
    return problems


def _bound_problems(limit: Mapping[str, Any], path: str) -> Iterator[Problem]:
    names = dict.fromkeys(name for bound in _BOUNDS for name in section(limit, bound))
    for name in names:
        low, high = section(limit, "min").get(name), section(limit, "max").get(name)
        if low is not None and high is not None and parse_quantity(low) > parse_quantity(high):
            said = f"min value {low} is greater than max value {high}"
            yield Problem.invalid(f"{path}.min[{name}]", low, said)
        request, usual = section(limit, "defaultRequest").get(name), section(limit, "default").get(name)
        if request is not None and usual is not None and parse_quantity(request) > parse_quantity(usual):
            said = f"default request value {request} is greater than default limit value {usual}"
            yield Problem.invalid(f"{path}.defaultRequest[{name}]", request, said)


def _name_problems(name: str, path: str, said: str) -> Iterator[Problem]:
    yield from named(qualified_name, name, path)
    if "/" not in name and not is_standard(name):
        yield Problem.invalid(path, name, "must be a standard resource type or fully qualified")
        yield Problem.invalid(path, name, said)
