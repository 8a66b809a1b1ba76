"""How many processes share the tests."""

import os


def pytest_xdist_auto_num_workers() -> int:
    """Two for each processor: tests on real processes mostly wait for them."""
    return 2 * (os.cpu_count() or 1)
