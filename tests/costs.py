"""Costs of tests, in CPU seconds: a plug-in of pytest, for one process of tests (`make costs`, docs/decisions/0031-*).

A test costs what this process and those that it has waited for have taken meanwhile. On a busy machine the same takes
half as much again: only figures of one run are compared.
"""

import os
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

import pytest

MOST = 25
"""Number of files and tests that are named."""


class Cost(NamedTuple):
    """CPU seconds of this process, and of others."""

    own: float
    others: float

    @property
    def total(self) -> float:
        return self.own + self.others


def _spent() -> Cost:
    times = os.times()
    return Cost(times.user + times.system, times.children_user + times.children_system)


_costs: dict[str, Cost] = {}
"""Costs by the id of a test."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    before = _spent()
    told = yield
    after = _spent()
    _costs[item.nodeid] = Cost(after.own - before.own, after.others - before.others)
    return told


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in render(_costs):
        terminalreporter.write_line(line)


def render(costs: Mapping[str, Cost]) -> Iterator[str]:
    """Folders, then the dearest files and tests: CPU seconds, of which others' processes, and how many tests."""
    files = {name: name.partition("::")[0] for name in costs}
    for title, groups, most in (
        ("folder", {name: _folder(file) for name, file in files.items()}, None),
        ("file", files, MOST),
        ("test", {name: name for name in costs}, MOST),
    ):
        yield f"{'CPU s':>8} {'others':>8} {'tests':>6}  {title}"
        found = defaultdict[str, list[Cost]](list)
        for name, cost in costs.items():
            found[groups[name]].append(cost)
        dearest = sorted(found.items(), key=lambda group: -sum(cost.total for cost in group[1]))
        for group, each in dearest[:most]:
            total, others = sum(cost.total for cost in each), sum(cost.others for cost in each)
            yield f"{total:8.1f} {others:8.1f} {len(each):6}  {group}"


def _folder(file: str) -> str:
    """The first two parts of the path: `tests/world`."""
    return "/".join(PurePosixPath(file).parts[:2])
