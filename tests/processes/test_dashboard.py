"""The dashboard beside a real fleet: its link, what a page is told of an outage, and that it ends with the fleet."""

import json
import urllib.request
from collections.abc import Callable, Generator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from kubeapi.loop.clock import Deadline
from leeward.app.local import processes
from leeward.app.local.dashboard_process import link_of
from leeward.app.local.fleet import load_fleet
from leeward.app.local.layout import DASHBOARD, Layout
from leeward.app.local.processes import State
from leeward.app.local.waiting import wait_until
from leeward.dashboard.context import SESSION_HEADER
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

EXAMPLE = Path(__file__).parents[2] / "examples/divided.yaml"
NGINX = "default/Deployment/nginx"
SECONDS = 90.0

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(
        tmp_path_factory.mktemp("fleet"), "--member", "member1", "--member", "member2", "--dashboard"
    ) as running:
        running.kubectl("apply", "-f", str(EXAMPLE))
        yield running


class Page:
    """A browser that has opened the link, and reads the stream."""

    def __init__(self, link: str) -> None:
        self._opener = urllib.request.build_opener()
        self.base, _, key = link.partition("#key=")
        body = json.dumps({"key": key}).encode()
        asked = urllib.request.Request(self.base + "api/session", body, {"Content-Type": "application/json"})
        with self._opener.open(asked, timeout=SECONDS) as answer:
            self._opener.addheaders = [(SESSION_HEADER, json.loads(answer.read())["session"])]
        self.collections: dict[str, dict[str, Any]] = {}
        self._stream: HTTPResponse = self._opener.open(self.base + "api/events", timeout=SECONDS)

    def until(self, holds: Callable[[], bool]) -> None:
        """Reads on until it holds of what was told."""
        deadline = Deadline(SECONDS)
        while not (self.collections and holds()):
            assert not deadline.has_passed, self.collections
            line = self._stream.readline()
            assert line, "the stream has ended"
            if line.startswith(b"data: "):
                self._take(json.loads(line[6:]))

    def _take(self, data: dict[str, Any]) -> None:
        if "collections" in data:
            self.collections = data["collections"]
        for name, objects in data.get("set", {}).items():
            self.collections[name].update(objects)
        for name, keys in data.get("unset", {}).items():
            for key in keys:
                del self.collections[name][key]

    def json(self, path: str) -> Any:
        with self._opener.open(self.base + path, timeout=30) as answer:
            return json.loads(answer.read())

    @property
    def nginx(self) -> dict[str, Any]:
        return self.collections["applications"].get(NGINX, {"state": "", "ready": 0})

    def state_of(self, cluster: str) -> str:
        return self.collections["clusters"][cluster]["state"]


def test_a_page_is_told_of_an_outage_as_it_happens(fleet: Fleet) -> None:
    layout = Layout(fleet.data_dir)
    link = link_of(layout, load_fleet(layout))
    assert wait_until(lambda: layout.ready_file(DASHBOARD).exists(), SECONDS)
    assert "dashboard" in fleet.overview()
    page = Page(link)
    page.until(lambda: page.nginx["ready"] == page.nginx.get("wanted", -1))
    assert page.json("api/session")["user"] == "admin"
    answer = page.json("api/what-if?fail=member1")
    assert answer["command"] == "leeward what-if --fail member1"

    fleet.leeward("member", "stop", "member1")
    page.until(lambda: page.state_of("member1") == "Not ready")
    page.until(lambda: page.nginx["state"] == "Moved")
    (outage,) = page.collections["outages"].values()
    assert (outage["cluster"], outage["moved"]) == ("member1", 1)
    assert page.json(f"api/outages/{outage['name']}")["applications"][0]["name"] == "nginx"
    assert page.json(f"api/applications/{NGINX}")["explanation"]["workload"] == "Deployment default/nginx"

    fleet.leeward("member", "start", "member1")
    page.until(lambda: page.state_of("member1") == "Ready" and page.nginx["state"] == "InPlace")


def test_it_ends_with_the_fleet_and_a_link_that_is_not_used_stays(fleet: Fleet) -> None:
    layout = Layout(fleet.data_dir)
    link = link_of(layout, load_fleet(layout))
    Page(link)
    used, link = link, link_of(layout, load_fleet(layout))
    assert used != link, "each is good once"
    with pytest.raises(HTTPError, match="401"):
        Page(used)
    assert (layout.dashboard_key.stat().st_mode & 0o777) == 0o600
    fleet.leeward("down")
    assert processes.state_of(layout, DASHBOARD) is State.STOPPED
    with pytest.raises(URLError):
        urllib.request.urlopen(link, timeout=SECONDS)
    assert f"dashboard:  {link}" in fleet.leeward("up", "--dashboard", "--detach")
    assert "dashboard:" not in fleet.leeward("down")
    assert "dashboard:" not in fleet.leeward("up", "--no-dashboard", "--detach")
    assert processes.state_of(layout, DASHBOARD) is State.STOPPED
