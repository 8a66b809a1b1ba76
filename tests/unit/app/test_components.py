import sys
from pathlib import Path

import pytest

from leeward.app.config import Timing
from leeward.app.local.components import agent_config, command_of, control_plane_config, member_config
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, Member
from leeward.app.local.layout import Layout

MEMBER1, MEMBER3 = Member("member1", "push", 20_001), Member("member3", "pull", 20_003)
FLEET = LocalFleet(20_000, (MEMBER1, MEMBER3), "fast")


@pytest.mark.parametrize(
    ("component", "arguments"),
    [
        ("control-plane", ["control-plane"]),
        ("member1", ["member", "member1"]),
        ("member3-agent", ["agent", "member3"]),
    ],
)
def test_every_component_is_started_with_the_same_python(component: str, arguments: list[str]) -> None:
    command = command_of(Layout(Path("/data")), component)
    assert command == [sys.executable, "-m", "leeward.cli", "run", *arguments, "--data-dir", "/data"]


def test_the_control_plane_is_told_its_port_files_and_timing(tmp_path: Path) -> None:
    config = control_plane_config(Layout(tmp_path), FLEET)
    assert (config.port, config.settings.timing) == (20_000, Timing.fast())
    assert config.data_dir == tmp_path / "control-plane"
    assert config.tls_cert_file == tmp_path / "pki" / "control-plane.crt"


def test_a_member_is_told_where_its_faults_stand(tmp_path: Path) -> None:
    config = member_config(Layout(tmp_path), FLEET, MEMBER1)
    assert (config.name, config.port) == ("member1", 20_001)
    assert config.faults_file == tmp_path / "members" / "member1" / "faults.json"


def test_a_component_reports_that_it_serves_with_a_file(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    member_config(layout, FLEET, MEMBER1).ready()
    assert layout.ready_file("member1").exists()


def test_an_agent_is_told_both_contexts(tmp_path: Path) -> None:
    config = agent_config(Layout(tmp_path), FLEET, MEMBER3)
    assert (config.control_plane_context, config.member_context) == ("karmada-apiserver", "member3")
    with pytest.raises(FleetError, match="member1 is a Push member"):
        agent_config(Layout(tmp_path), FLEET, MEMBER1)


def test_how_long_events_are_kept_can_be_said_for_one_component(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert control_plane_config(layout, FLEET, event_ttl=60.0).settings.timing.event_ttl == 60
    assert member_config(layout, FLEET, MEMBER1, event_ttl=60.0).timing.event_ttl == 60
    assert member_config(layout, FLEET, MEMBER1).timing == Timing.fast()
