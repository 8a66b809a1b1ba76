from collections.abc import Iterable

import msgspec
import pytest
from msgspec.structs import replace

from leeward.answers.fleet_state import FleetState
from leeward.answers.fleet_story import MOST_ROWS, ComingWord, FleetMood, FleetStory, SeenRows, fleet_story
from leeward.api.cluster import Cluster
from leeward.core.cluster_health.brake import Brake
from leeward.core.outages.record import begin, render
from leeward.core.placement.cause import BRAKED
from leeward.operations.applications import ApplicationRow, RowState, ServiceLevel
from leeward.operations.clusters import cluster_row
from leeward.operations.taints import CORDON
from tests.builders import at, cluster, dead
from tests.fleet_pictures import picture_of
from tests.unit.core.outages.looks import here, look, lost

M1, M2, M3 = cluster("m1"), cluster("m2"), cluster("m3")


def row(
    name: str, state: RowState = RowState.IN_PLACE, message: str = "", serving: ServiceLevel = ServiceLevel.WHOLE
) -> ApplicationRow:
    return ApplicationRow("Deployment", "shop", name, state, 1, 2, [], message=message, serving=serving)


def told(
    clusters: Iterable[Cluster], rows: Iterable[ApplicationRow] = (), brake: Brake | None = None, *, sees: bool = True
) -> FleetStory:
    seen = list(clusters)
    applications: dict[RowState, dict[str, ApplicationRow]] = {}
    for each in rows:
        applications.setdefault(each.state, {})[f"shop/Deployment/{each.name}"] = each
    number = sum(map(len, applications.values()))
    state = picture_of(seen, [])
    if brake is not None:
        state = FleetState(msgspec.structs.replace(state.recorded, brake=brake))
    clusters_rows = [cluster_row(each, ()) for each in seen] if sees else []
    return fleet_story(state, SeenRows(clusters_rows, applications, number, 2, "m", sees_clusters=sees))


@pytest.mark.parametrize(
    ("clusters", "rows", "mood", "headline"),
    [
        ([], [], FleetMood.EMPTY, "No cluster has joined"),
        ([M1], [], FleetMood.WELL, "The only cluster is ready"),
        ([M1, M2, M3], [row("a")], FleetMood.WELL, "All 3 clusters are ready"),
        ([M1, cluster("m2", taints=(CORDON,))], [], FleetMood.WELL, "All 2 clusters are ready, 1 cordoned"),
        ([M1, dead("m2")], [], FleetMood.OUTAGE, "m2 has been down for 0 s"),
        ([dead("m1"), dead("m2"), M3], [], FleetMood.OUTAGE, "m1 and m2 have been down for 0 s"),
        ([M1], [row("a", RowState.HELD, "why")], FleetMood.NEEDS_SOMEBODY, "shop/a needs somebody"),
        (
            [M1],
            [row("a", RowState.HELD), row("b", RowState.NOT_PLACED)],
            FleetMood.NEEDS_SOMEBODY,
            "2 applications need somebody",
        ),
    ],
)
def test_the_headline_is_a_sentence_with_the_answer(
    clusters: list[Cluster], rows: list[ApplicationRow], mood: FleetMood, headline: str
) -> None:
    story = told(clusters, rows)
    assert (story.mood, story.headline) == (mood, headline)


def test_the_brake_comes_before_everything() -> None:
    story = told([dead("m1"), dead("m2")], [row("a", RowState.HELD)], Brake(since=at(0)))
    assert (story.mood, story.headline, story.detail) == (
        FleetMood.BRAKED,
        "2 of 2 clusters seem to be down: the brake stops evictions",
        "m",
    )
    overruled = told([dead("m1"), dead("m2")], [], Brake(since=at(0), overruled=True))
    assert overruled.mood is FleetMood.OUTAGE


def test_of_clusters_that_may_not_be_seen_nothing_is_said() -> None:
    story = told([dead("m1")], [row("a")], sees=False)
    assert (story.mood, story.headline) == (FleetMood.HIDDEN, "You have no right to see the clusters")
    assert story.detail == "You can see 1 application."
    assert told([], [row("a", RowState.HELD, "why")], sees=False).mood is FleetMood.NEEDS_SOMEBODY


def test_the_headline_of_an_outage_is_the_service_and_the_cause_comes_after_it() -> None:
    lost = [row(name, RowState.HELD, "why", ServiceLevel.NOBODY) for name in "ab"]
    less = row("c", RowState.DUE, serving=ServiceLevel.FEWER)
    story = told([M1, dead("m2")], [*lost, less, row("d", serving=ServiceLevel.STARTING)])
    assert story.headline == "2 of 4 applications are down, 1 serves with fewer replicas"
    assert story.detail.startswith("m2 has been down for 0 s. ")
    assert told([M1, dead("m2")], [less]).headline == "1 of 1 application serves with fewer replicas"
    braked = told([dead("m1"), dead("m2")], lost, Brake(since=at(0)))
    assert braked.headline == "2 of 2 applications are down"
    assert braked.detail == "2 of 2 clusters seem to be down: the brake stops evictions."


def test_a_reason_is_one_line_and_at_most_five_are_told() -> None:
    shared = [row(f"a{number:02}", RowState.NOT_PLACED, "no room") for number in range(7)]
    others = [row(f"b{number}", RowState.NOT_PLACED, f"reason {number}") for number in range(MOST_ROWS)]
    hindered = row("kept", RowState.HINDERED, "finalizers")
    lines = told([M1], [hindered, row("moving", RowState.MOVING), row("held", RowState.HELD, "why"), *shared]).coming
    assert [(line.word, line.sentence, line.about) for line in lines[:3]] == [
        (ComingWord.HELD, "shop/held: why", "application/shop/Deployment/held"),
        (ComingWord.NOT_PLACED, "shop/a00, shop/a01 and 5 more: no room", ""),
        (ComingWord.HARMLESS, "shop/kept: finalizers", "application/shop/Deployment/kept"),
    ]
    assert lines[3].word is ComingWord.MOVING
    assert lines[3].sentence == "1 application waits for healthy replacements: shop/moving (1 of 2)"
    many = told([M1], [*others, *shared]).coming
    assert len(many) == MOST_ROWS
    assert many[-1].sentence == "2 more applications, for other reasons"
    harm = row("harmed", RowState.HINDERED, "x", ServiceLevel.FEWER)
    assert told([M1], [harm]).coming[0].word is ComingWord.HINDERED


def test_the_brake_is_one_reason_whatever_it_keeps_where() -> None:
    held = [row(f"a{number}", RowState.HELD, f"not evicted from m{number}", ServiceLevel.NOBODY) for number in range(4)]
    hindered = row("b", RowState.HINDERED, "it is not removed from m1", ServiceLevel.NOBODY)
    braked = [msgspec.structs.replace(each, reason="BrakeEngaged") for each in (*held, hindered)]
    (line,) = told([dead("m1"), dead("m2")], braked, Brake(since=at(0))).coming
    assert (line.word, line.sentence) == (ComingWord.HELD, f"shop/a0, shop/a1 and 3 more: {BRAKED}")


@pytest.mark.parametrize("reasons", [0, 3, 4, 9])
@pytest.mark.parametrize("steps", [0, 1, 2, 5, 9])
def test_never_more_than_five_rows_are_told_and_what_is_left_out_is_counted(reasons: int, steps: int) -> None:
    held = [row(f"a{number}", RowState.HELD, f"reason {number}") for number in range(reasons)]
    due = [
        msgspec.structs.replace(row(f"b{number}", RowState.DUE), next=f"leaves m{number}", next_at=at(number))
        for number in range(steps)
    ]
    lines = told([M1], [*held, *due]).coming
    assert len(lines) <= MOST_ROWS
    told_reasons = sum(line.word is ComingWord.HELD and "more application" not in line.sentence for line in lines)
    told_steps = sum(line.word is ComingWord.DUE for line in lines)
    if told_reasons < reasons:
        assert f"{reasons - told_reasons} more application" in " ".join(line.sentence for line in lines)
    if told_steps < steps:
        assert lines[-1].sentence.startswith(f"{steps - told_steps} more step")


def test_who_leaves_at_the_same_time_leaves_together() -> None:
    due = [
        msgspec.structs.replace(row(name, RowState.DUE), next="leaves m1", next_at=at(seconds))
        for name, seconds in (("a", 300), ("b", 60), ("c", 300))
    ]
    lines = told([M1], due).coming
    assert [(line.at, line.sentence) for line in lines] == [
        (at(60), "1 application leaves m1"),
        (at(300), "2 applications leave m1"),
    ]


def test_what_could_not_be_read_is_not_taken_for_well() -> None:
    state = picture_of([M1, M2], [])
    state = FleetState(msgspec.structs.replace(state.recorded, unseen=("cluster m3 cannot be read",)))
    story = fleet_story(state, SeenRows([cluster_row(each, ()) for each in (M1, M2)], {}, 0, 0))
    assert story.headline == "All 2 clusters that could be read are ready"


def test_a_fleet_in_an_outage_tells_of_what_was_deleted_since() -> None:
    record = look(begin(lost()), 40, lost(), here())
    for after, said in (
        (record, "0 of its 1 application run elsewhere."),
        (look(record, 50, lost(), gone=("web",)), "1 application deleted or scaled to 0 since."),
    ):
        story = fleet_story(
            picture_of([lost()], [], outages=(render(after),)), SeenRows([cluster_row(lost(), ())], {}, 0, 0)
        )
        assert story.detail == f"{said} Nothing needs you."


def test_a_cluster_that_fails_again_is_down_since_then() -> None:
    outage = render(begin(lost()))
    again = replace(
        outage, status=replace(outage.status, failures=2, failed_at=at(-30)), spec=replace(outage.spec, since=at(-600))
    )
    story = fleet_story(picture_of([lost()], [], outages=(again,)), SeenRows([cluster_row(lost(), ())], {}, 0, 0))
    assert story.headline == "member1 has been down for 30 s"
