"""A control plane without members: its keys on disk, and a server at its address that only keeps objects."""

from collections.abc import Iterator

import pytest

from kubeclient import preflight
from leeward.app.local.fleet import LocalFleet
from leeward.app.local.layout import Layout
from leeward.operations import status
from tests.json_server import JsonServer, serve_json
from tests.ports import free_port
from tests.verbs import issued

PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return issued(tmp_path_factory.mktemp("fleet"), LocalFleet(free_port()))


@pytest.fixture
def control_plane(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> Iterator[JsonServer]:
    """Control plane that answers, however long that takes on a busy machine."""
    monkeypatch.setattr(preflight, "ANSWER_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(status, "HEALTH_SECONDS", PATIENCE_SECONDS)
    with serve_json(layout) as server:
        issued(layout.root, LocalFleet(server.port))
        yield server
