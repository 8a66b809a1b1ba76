"""How many processes share the tests, that each run of them is the same, and that none is left out unnoticed."""

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import settings

FUZZ = "LEEWARD_FUZZ"
"""How many examples each property draws in `make fuzz`, whose seed says which."""

settings.register_profile("the same each time", deadline=None, derandomize=True, database=None)
settings.register_profile("fresh", deadline=None, database=None, max_examples=int(os.environ.get(FUZZ, 1)))
settings.load_profile("fresh" if FUZZ in os.environ else "the same each time")


def pytest_xdist_auto_num_workers() -> int:
    """Two for each processor: tests on real processes mostly wait for them."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection_finish() -> None:
    """Keeps what was imported from being searched for garbage again, many times in each world."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that is skipped fails where all have to run (LEEWARD_NO_SKIPS, which `.ci/run` sets)."""
    report = yield
    if report.skipped and "LEEWARD_NO_SKIPS" in os.environ:
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was not run: {report.longrepr}"
    return report
