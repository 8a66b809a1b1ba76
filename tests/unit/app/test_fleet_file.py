from pathlib import Path

import pytest

from leeward.app.config import Timing
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, Member, MemberRequest, find_fleet, load_fleet, parse_member, save_fleet
from leeward.app.local.layout import Layout

FLEET = LocalFleet(20_000, (Member("member1", "push", 20_001), Member("member3", "pull", 20_003)), "fast")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def test_a_fleet_is_read_as_it_was_saved(layout: Layout) -> None:
    save_fleet(layout, FLEET)
    assert load_fleet(layout) == FLEET
    assert [path.name for path in layout.root.iterdir()] == ["fleet.json"]


def test_no_fleet_is_found_in_an_empty_or_missing_directory(layout: Layout) -> None:
    assert find_fleet(layout) is None
    assert find_fleet(Layout(layout.root / "missing")) is None
    with pytest.raises(FleetError, match=r"no fleet in .*: start one with `leeward up`"):
        load_fleet(layout)


def test_a_file_of_another_version_is_refused_with_the_way_out(layout: Layout) -> None:
    layout.fleet_file.write_text('{"version": 7, "shape": "unknown"}')
    with pytest.raises(FleetError, match=r"fleet\.json has format 7, .* reads format 1: use the version that wrote it"):
        load_fleet(layout)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "is damaged"),
        ('{"version": 1}', "controlPlanePort"),
        ('{"version": 1, "controlPlanePort": "x"}', r"\$\.controlPlanePort"),
        (
            '{"version": 1, "controlPlanePort": 1, "members": [{"name": "a", "mode": "x", "port": 1}]}',
            r"members\[0\]\.mode",
        ),
    ],
)
def test_a_damaged_file_is_refused_and_the_field_named(layout: Layout, content: str, complaint: str) -> None:
    layout.fleet_file.write_text(content)
    with pytest.raises(FleetError, match=complaint):
        load_fleet(layout)


def test_a_data_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FleetError, match="is no directory"):
        find_fleet(Layout(tmp_path / "file"))


def test_pull_members_have_an_agent() -> None:
    assert FLEET.components == ("control-plane", "member1", "member3", "member3-agent")


def test_the_timing_is_karmadas_or_fast() -> None:
    assert FLEET.timing_values == Timing.fast()
    assert LocalFleet(1).timing_values == Timing.karmada() == Timing()


def test_members_are_added_replaced_and_removed() -> None:
    moved = FLEET.with_member(Member("member1", "push", 30_000))
    assert moved.member("member1").port == 30_000
    assert [member.name for member in moved.members] == ["member1", "member3"]
    assert [member.name for member in moved.without_member("member1").members] == ["member3"]


def test_an_unknown_member_is_named_with_those_that_there_are() -> None:
    with pytest.raises(FleetError, match=r"no member 'member9' in this fleet \(members: member1, member3\)"):
        FLEET.member("member9")


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("a", MemberRequest("a", "push")),
        ("a=push", MemberRequest("a", "push")),
        ("edge-1=Pull", MemberRequest("edge-1", "pull")),
    ],
)
def test_a_member_is_asked_for_by_name_and_mode(text: str, request_: MemberRequest) -> None:
    assert parse_member(text) == request_


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "DNS label"),
        ("Member1", "DNS label"),
        ("-a", "DNS label"),
        ("a.b", "DNS label"),
        ("../a", "DNS label"),
        ("a" * 49, "at most 48"),
        ("control-plane", "kept for another component"),
        ("karmada-apiserver", "kept for another component"),
        ("member3-agent", "kept for another component"),
        ("a=both", "must be push or pull"),
    ],
)
def test_a_bad_member_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(FleetError, match=complaint):
        parse_member(text)
