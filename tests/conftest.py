"""Rules of a run of tests: processes share them, each run of them is the same, and none is left out unnoticed."""

import gc
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

FUZZ = "LEEWARD_FUZZ"
"""Number of examples that each property draws in `make fuzz`, whose seed says which."""

GARBAGE_THRESHOLDS = 200_000, 10, 50
"""Thresholds by which young objects are searched for garbage three hundred times more seldom than otherwise: all that a
world is made of lives as long as its story, and searching it took a tenth of all CPU time. No more memory is used.
"""

LONGEST = {
    "test_walkthrough.py": 3,
    "test_who_was_away.py": 2,
    "test_applications_deployed.py": 1,
    "test_outage_and_return.py": 1,
}
"""The files of tests/processes that take a minute and more, whatever the machine, in minutes."""

gc.disable()  # until all is imported: nothing of it is garbage

settings.register_profile("the same each time", deadline=None, derandomize=True, database=None)
settings.register_profile("fresh", deadline=None, database=None, max_examples=int(os.environ.get(FUZZ, 1)))
settings.load_profile("fresh" if FUZZ in os.environ else "the same each time")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spreads the files that wait for real processes over the first half of all files, the longest first.

    While one process of the tests waits, the others compute; and no long wait is left for the end.
    """
    waiting, computing = defaultdict[Path, list[pytest.Item]](list), defaultdict[Path, list[pytest.Item]](list)
    for item in items:
        (waiting if item.get_closest_marker("processes") else computing)[item.path].append(item)
    if not waiting or not computing:
        return
    steps = -(-len(computing) // (2 * len(waiting)))
    first = sorted(waiting.values(), key=lambda file: -LONGEST.get(file[0].path.name, 0))
    ordered = list[pytest.Item]()
    for index, file in enumerate(computing.values()):
        if index % steps == 0 and first:
            ordered += first.pop(0)
        ordered += file
    items[:] = [*ordered, *(item for file in first for item in file)]


def pytest_collection_finish() -> None:
    """Keeps what was imported from being searched for garbage again, and what is old from being searched often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that is skipped fails where all have to run (LEEWARD_NO_SKIPS, which `.ci/run` sets)."""
    report = yield
    if report.skipped and "LEEWARD_NO_SKIPS" in os.environ:
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was not run: {report.longrepr}"
    return report
