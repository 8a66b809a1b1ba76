"""A data directory of each earlier version, started by this one: real processes, and what they say of it."""

import json
from pathlib import Path

import pytest

from kubeapi.loop.randomness import Randomness
from leeward import __version__
from leeward.app.local.layout import Layout
from leeward.app.local.ports import pick_port
from tests.processes.fleet import Fleet, needs_kubectl
from tests.recorded_format import RELEASES, unpack_store

RECORDED = {
    "0.1.0": {"member1-20261123-155840", "member2-20261123-160003", "member3-20261123-160007"},
    "0.2.0": {"member1-20261129-161646", "member2-20261129-161713", "member3-20261129-161716"},
}
"""Outages in the store of each release."""
WAITING = {"0.2.0"}
"""Releases in whose first outage an application waits for somebody, which `timeline` tells by its exit code."""

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.mark.parametrize("release", RELEASES)
def test_a_fleet_of_an_earlier_version_runs_and_is_kept_as_it_was(tmp_path: Path, release: str) -> None:
    layout, fleet = Layout(tmp_path / "fleet"), Fleet(tmp_path / "fleet")
    unpack_store(release, layout)
    ran(fleet, release, "--port", str(pick_port(Randomness())))
    before = as_of(layout, "0.0.9")
    said = ran(fleet, release)
    assert said.startswith(f"leeward 0.0.9 ran this fleet last, and this is {__version__}: ")
    [kept] = layout.upgrades.glob("from-0.0.9-*/control-plane.tar")
    assert json.loads(layout.fleet_file.read_text())["leeward"] == __version__
    elsewhere = Fleet(tmp_path / "elsewhere")
    elsewhere.leeward("restore", "--yes", str(kept))
    assert Layout(elsewhere.data_dir).fleet_file.read_bytes() == before, "the version before finds its own"
    assert "ran this fleet last" not in ran(fleet, release)


def ran(fleet: Fleet, release: str, *options: str) -> str:
    """Starts it, looks at its outages, and stops it; what `leeward up` has said."""
    said = fleet.leeward("up", "--detach", "--no-dashboard", *options)
    try:
        names = {each["metadata"]["name"] for each in fleet.get("outages")["items"]}
        assert names >= RECORDED[release], "those of now, of members that are gone, are beside them"
        waits = release in WAITING
        assert "default/nginx" in fleet.leeward("timeline", "--outage", min(RECORDED[release]), fails=waits)
    finally:
        fleet.leeward("down")
    return said


def as_of(layout: Layout, version: str) -> bytes:
    """Has that version be the one that ran the fleet last; fleet.json as it is then."""
    written = json.loads(layout.fleet_file.read_text())
    layout.fleet_file.write_text(json.dumps({**written, "leeward": version}))
    return layout.fleet_file.read_bytes()
