"""One Chromium and one stand-in for all tests of a file; profiles are fresh for each page."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import running_chromium
from tests.browser.stand_in import StandIn, standing_in


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    with running_chromium() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def stand_in() -> Generator[StandIn]:
    with standing_in() as server:
        yield server
