"""How many processes share the tests, and that each run of them is the same."""

import os

from hypothesis import settings

settings.register_profile("the same each time", deadline=None, derandomize=True, database=None)
settings.load_profile("the same each time")


def pytest_xdist_auto_num_workers() -> int:
    """Two for each processor: tests on real processes mostly wait for them."""
    return 2 * (os.cpu_count() or 1)
