"""The names that stories of users import: they stay where they are."""

from importlib import import_module

import pytest

NAMES = (
    ("leeward.api.meta", "find_condition"),
    ("leeward.api.resource", "CLUSTERS"),
    ("kubeclient", "Client"),
    ("kubeclient", "Request"),
    ("leeward.loop.virtual", "run_virtual"),
    ("leeward.manager.timing", "Timing"),
    ("leeward.sim.world", "Mode"),
    ("leeward.sim.world", "World"),
)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_that_stories_import_stays(module: str, name: str) -> None:
    assert hasattr(import_module(module), name)
