from pathlib import Path

import msgspec
import pytest

from leeward.app.local.errors import FleetError
from leeward.app.local.faults import Faults, write_faults
from leeward.app.local.fleet import LocalFleet, Member, save_fleet
from leeward.app.local.layout import Layout
from leeward.app.local.members import kill, make_ready, make_unready, pause, revive, slow_down
from leeward.app.local.status import processes_status, with_components
from leeward.operations.findings import Finding, Severity
from tests.verbs import pretend_to_run

FLEET = LocalFleet(20_000, (Member("member1", "push", 20_001), Member("member3", "pull", 20_003)))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    save_fleet(layout, FLEET)
    return layout


def test_a_fleet_that_does_not_run_is_shown_as_stopped(layout: Layout) -> None:
    status = processes_status(layout)
    assert {component.name: component.state for component in status.components} == dict.fromkeys(
        ("control-plane", "member1", "member3", "member3-agent"), "stopped"
    )


def test_a_process_that_does_not_run_is_a_finding_with_the_way_out(layout: Layout) -> None:
    pretend_to_run(layout, "control-plane")
    findings = with_components((), processes_status(layout).components)
    assert {(finding.about, finding.sentence, finding.next) for finding in findings} == {
        ("component/member1", "member1 does not run", "leeward member start member1"),
        ("component/member3", "member3 does not run", "leeward member start member3"),
        ("component/member3-agent", "member3-agent does not run", "leeward member start member3 --only agent"),
    }


def test_of_a_fleet_that_does_not_run_nothing_can_be_started_alone(layout: Layout) -> None:
    components = processes_status(layout).components
    (finding,) = with_components((), components)
    assert (finding.about, finding.next) == ("component/control-plane", "leeward up")
    assert with_components((), components, told="control-plane") == []


def test_a_dashboard_that_does_not_run_needs_nobody(layout: Layout) -> None:
    save_fleet(layout, msgspec.structs.replace(FLEET, dashboard_port=20_009))
    (component,) = (each for each in processes_status(layout).components if each.name == "dashboard")
    (finding,) = with_components((), [component])
    assert (component.state, component.port) == ("stopped", 20_009)
    assert (finding.severity, finding.sentence, finding.next) == (
        Severity.SOON,
        "dashboard does not run",
        "leeward dashboard",
    )


def test_a_cluster_that_is_a_finding_already_is_given_the_way_out(layout: Layout) -> None:
    soon = Finding(Severity.SOON, "cluster/member3", "is failing", next="kubectl describe cluster member3")
    dead = Finding(Severity.NEEDS_SOMEBODY, "cluster/member1", "is not ready")
    components = [c for c in processes_status(layout).components if c.name in ("member1", "member3")]
    assert [(finding.about, finding.next) for finding in with_components((soon, dead), components)] == [
        ("cluster/member1", "leeward member start member1"),
        ("cluster/member3", "leeward member start member3"),
    ]


def test_faults_are_shown_at_their_member(layout: Layout) -> None:
    write_faults(layout.faults("member1"), Faults(unready=True))
    faults = {component.name: component.faults for component in processes_status(layout).components}
    assert faults == {"control-plane": "", "member1": "unready", "member3": "", "member3-agent": ""}


def test_unready_and_slow_are_kept_apart(layout: Layout) -> None:
    make_unready(layout, "member1")
    slow_down(layout, "member1", 2)
    assert str(_faults(layout)) == "unready, slow 2s"
    make_ready(layout, "member1")
    assert str(_faults(layout)) == "slow 2s"
    slow_down(layout, "member1", 0)
    assert str(_faults(layout)) == ""


def test_a_push_member_has_no_agent_to_stop(layout: Layout) -> None:
    with pytest.raises(FleetError, match="member1 is a Push member: it has no agent; leave out --only"):
        kill(layout, "member1", "agent")


def test_a_member_that_does_not_run_cannot_be_paused(layout: Layout) -> None:
    with pytest.raises(FleetError, match="member3 does not run"):
        pause(layout, "member3")


def test_a_member_is_not_started_without_a_fleet(layout: Layout) -> None:
    with pytest.raises(FleetError, match=r"the fleet in .* does not run: start it with `leeward up`"):
        revive(layout, "member1")


def _faults(layout: Layout) -> str:
    return next(component.faults for component in processes_status(layout).components if component.name == "member1")
