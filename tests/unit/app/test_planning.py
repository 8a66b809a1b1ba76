import socket
from pathlib import Path

import pytest

from kubeapi.loop.randomness import Randomness
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, Member, MemberRequest, save_fleet
from leeward.app.local.layout import Layout
from leeward.app.local.planning import UpRequest, plan_fleet, stopped_members
from leeward.app.local.ports import FIRST_PORT, LAST_PORT, is_free, pick_port
from tests.verbs import pretend_to_run


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def _modes(fleet: LocalFleet) -> dict[str, str]:
    return {member.name: member.mode for member in fleet.members}


def test_a_new_fleet_has_two_push_members_and_a_pull_member(layout: Layout) -> None:
    fleet = plan_fleet(layout, UpRequest(), Randomness())
    assert _modes(fleet) == {"member1": "push", "member2": "push", "member3": "pull"}
    assert fleet.timing == "karmada"


def test_all_ports_differ_and_lie_below_the_ephemeral_range(layout: Layout) -> None:
    fleet = plan_fleet(layout, UpRequest(), Randomness())
    ports = [fleet.control_plane_port, *(member.port for member in fleet.members)]
    assert len(set(ports)) == 4
    assert all(FIRST_PORT <= port <= LAST_PORT for port in ports)


def test_members_that_were_asked_for_replace_the_default_ones(layout: Layout) -> None:
    request = UpRequest((MemberRequest("east"), MemberRequest("west", "pull")), timing="fast")
    fleet = plan_fleet(layout, request, Randomness())
    assert _modes(fleet) == {"east": "push", "west": "pull"}
    assert fleet.timing == "fast"


def test_a_fleet_that_was_there_keeps_its_members_ports_and_timing(layout: Layout) -> None:
    before = plan_fleet(layout, UpRequest((MemberRequest("east"),), timing="fast"), Randomness())
    save_fleet(layout, before)
    assert plan_fleet(layout, UpRequest(), Randomness()) == before


def test_what_surrounds_members_is_kept_until_something_else_is_asked_for(layout: Layout) -> None:
    first = plan_fleet(layout, UpRequest(), Randomness())
    assert (first.nodes, first.load_balancers) == (2, True)
    save_fleet(layout, plan_fleet(layout, UpRequest(nodes=1, load_balancers=False), Randomness()))
    kept = plan_fleet(layout, UpRequest(), Randomness())
    assert (kept.nodes, kept.load_balancers) == (1, False)
    assert plan_fleet(layout, UpRequest(nodes=5), Randomness()).nodes == 5


def test_new_members_are_added_to_a_fleet_that_was_there(layout: Layout) -> None:
    before = plan_fleet(layout, UpRequest((MemberRequest("east"),)), Randomness())
    save_fleet(layout, before)
    after = plan_fleet(layout, UpRequest((MemberRequest("east"), MemberRequest("west", "pull"))), Randomness())
    assert _modes(after) == {"east": "push", "west": "pull"}
    assert after.member("east") == before.member("east")


def test_a_member_does_not_change_its_mode(layout: Layout) -> None:
    save_fleet(layout, plan_fleet(layout, UpRequest((MemberRequest("east"),)), Randomness()))
    with pytest.raises(FleetError, match="east is asked for in pull mode, but is in push mode: remove it first"):
        plan_fleet(layout, UpRequest((MemberRequest("east", "pull"),)), Randomness())


def test_a_given_port_in_use_is_refused(layout: Layout) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(FleetError, match=f"port {port} is in use by another program: give another one with --port"):
            plan_fleet(layout, UpRequest(port=port), Randomness())


def test_the_control_planes_old_port_in_use_is_refused(layout: Layout) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        save_fleet(layout, LocalFleet(other.getsockname()[1]))
        with pytest.raises(FleetError, match="which the control plane of this fleet had, is in use"):
            plan_fleet(layout, UpRequest(), Randomness())


def test_a_member_whose_port_was_taken_gets_another_one(layout: Layout) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        save_fleet(layout, LocalFleet(pick_port(Randomness()), (Member("east", "push", port),)))
        assert plan_fleet(layout, UpRequest(), Randomness()).member("east").port != port


def test_a_second_up_is_refused(layout: Layout) -> None:
    save_fleet(layout, LocalFleet(pick_port(Randomness())))
    pretend_to_run(layout, "control-plane")
    with pytest.raises(FleetError, match=r"a fleet is already running in .*`leeward down`"):
        plan_fleet(layout, UpRequest(), Randomness())


def test_a_directory_with_other_things_in_it_is_refused(layout: Layout) -> None:
    (layout.root / "letters").mkdir()
    with pytest.raises(FleetError, match="is not empty and holds no fleet"):
        plan_fleet(layout, UpRequest(), Randomness())


def test_a_port_that_listens_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert not is_free(other.getsockname()[1])


def test_a_dashboard_keeps_its_port_gets_one_of_its_own_and_can_be_left_out(layout: Layout) -> None:
    fleet = plan_fleet(layout, UpRequest(dashboard=True), Randomness())
    ports = [fleet.control_plane_port, fleet.dashboard_port, *(member.port for member in fleet.members)]
    assert len(set(ports)) == 5
    assert fleet.components[-1] == "dashboard"
    save_fleet(layout, fleet)
    assert plan_fleet(layout, UpRequest(dashboard=True), Randomness()) == fleet
    with socket.socket() as other:
        other.bind(("127.0.0.1", fleet.dashboard_port))
        moved = plan_fleet(layout, UpRequest(dashboard=True), Randomness())
        assert moved.dashboard_port not in (0, fleet.dashboard_port)
    without = plan_fleet(layout, UpRequest(), Randomness())
    assert (without.dashboard_port, "dashboard" in without.components) == (0, False)


@pytest.mark.parametrize(
    ("remembered", "named", "stopped"),
    [
        (("control-plane", "member1", "member3-agent"), (), {"member2"}),
        (("control-plane", "member1", "member3-agent"), ("member2",), set[str]()),
        ((), (), set[str]()),
    ],
    ids=["the control plane died", "it is named", "leeward down"],
)
def test_members_that_were_stopped_before_the_control_plane_died_are_known(
    layout: Layout, remembered: tuple[str, ...], named: tuple[str, ...], stopped: set[str]
) -> None:
    save_fleet(layout, plan_fleet(layout, UpRequest(), Randomness()))
    pretend_to_run(layout, *remembered)
    assert stopped_members(layout, UpRequest(tuple(map(MemberRequest, named)))) == stopped


def test_a_new_fleet_has_no_member_that_was_stopped(layout: Layout) -> None:
    assert stopped_members(layout, UpRequest()) == set()
