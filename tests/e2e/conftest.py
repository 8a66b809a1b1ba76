"""One fleet for the whole suite, on the real binaries that KUBEBUILDER_ASSETS names; `make e2e` sets it."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e.fleet import Fleet, running_fleet

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests without binaries: without them nothing here can run, and a plain `pytest` must not build them."""
    if os.environ.get("KUBEBUILDER_ASSETS"):
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="no Kubernetes binaries: `make e2e` has them"))


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), Path(os.environ["KUBEBUILDER_ASSETS"])) as running:
        yield running
