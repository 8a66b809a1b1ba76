"""Strategies by which workloads replace their Pods: rules of update strategies, and of shares such as `25%`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import not_negative
from kubeserver.values import section

_PERCENT = re.compile("[0-9]+%")


def deployment_strategy_problems(strategy: Mapping[str, Any], path: str) -> Iterator[Problem]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            said = "may not be specified when strategy `type` is 'Recreate'"
            yield Problem.forbidden(f"{path}.rollingUpdate", said)
    elif kind != "RollingUpdate":
        shown = {"Type": kind, "RollingUpdate": rolling}
        yield Problem.not_supported(path, shown, ("Recreate", "RollingUpdate"))
    elif rolling is not None:
        where = f"{path}.rollingUpdate"
        gone, more = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
        yield from share_problems(gone, f"{where}.maxUnavailable")
        yield from share_problems(more, f"{where}.maxSurge")
        if _is_nothing(gone) and _is_nothing(more):
            yield Problem.invalid(f"{where}.maxUnavailable", gone, "may not be 0 when `maxSurge` is 0")
        yield from at_most_all(gone, f"{where}.maxUnavailable")


def daemon_strategy_problems(strategy: Mapping[str, Any], path: str) -> Iterator[Problem]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind not in ("RollingUpdate", "OnDelete"):
        shown = {"Type": kind, "RollingUpdate": rolling}
        yield Problem.not_supported(path, shown, ("RollingUpdate", "OnDelete"))
    elif kind == "RollingUpdate":
        where = f"{path}.rollingUpdate"
        shares = section(strategy, "rollingUpdate")
        gone, more = shares.get("maxUnavailable", 0), shares.get("maxSurge", 0)
        for value, field in ((gone, "maxUnavailable"), (more, "maxSurge")):
            yield from share_problems(value, f"{where}.{field}")
            yield from at_most_all(value, f"{where}.{field}")
        if _is_nothing(gone) and _is_nothing(more):
            yield Problem.required(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0")
        if not _is_nothing(gone) and not _is_nothing(more):
            yield Problem.invalid(f"{where}.maxSurge", more, "may not be set when maxUnavailable is non-zero")


def stateful_strategy_problems(strategy: Mapping[str, Any], path: str) -> Iterator[Problem]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}
            said = "only allowed for updateStrategy 'RollingUpdate'"
            yield Problem.invalid(f"{path}.rollingUpdate", shown, said)
    elif kind != "RollingUpdate":
        yield Problem.invalid(path, {"Type": kind, "RollingUpdate": rolling}, "must be 'RollingUpdate' or 'OnDelete'")
    elif rolling is not None:
        yield from not_negative(rolling.get("partition", 0), f"{path}.rollingUpdate.partition")


def share_problems(value: int | str, path: str) -> Iterator[Problem]:
    """A number of Pods, or a share of all."""
    if isinstance(value, int):
        yield from not_negative(value, path)
    elif not _PERCENT.fullmatch(value):
        said = (
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
            "used for validation is '[0-9]+%')"
        )
        yield Problem.invalid(path, value, said)


def at_most_all(value: int | str, path: str) -> Iterator[Problem]:
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        yield Problem.invalid(path, value, "must not be greater than 100%")


def _is_nothing(value: int | str) -> bool:
    return value == 0 if isinstance(value, int) else bool(_PERCENT.fullmatch(value)) and int(value[:-1]) == 0
