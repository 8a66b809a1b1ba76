"""The brake: engaged when most of the fleet looks dead, released when it looked well for a while."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kubeapi.codec import from_wire
from kubeapi.core import Namespace
from kubeapi.meta import format_time
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import FAILING_CONDITION, LAST_SEEN_CONDITION
from leeward.core.cluster_health.brake import (
    Brake,
    BrakeSettings,
    decide_brake,
    holds,
    is_alarming,
    parse_brake,
    render_brake,
    signs_of,
    silent_until,
    vanished_clusters,
)
from leeward.core.cluster_health.ready_condition import NO_ANSWER
from leeward.core.cluster_health.silence import Silence, follow_silence, parse_silence, render_silence
from leeward.core.cluster_health.watched_time import ALWAYS
from tests.builders import at, cluster, dead

SETTINGS = BrakeSettings()


def joined(cluster: Cluster) -> Cluster:
    """A cluster that was Ready at least once."""
    return msgspec.structs.replace(
        cluster, status=msgspec.structs.replace(cluster.status, kubernetes_version="v1.36.0")
    )


def leaving(cluster: Cluster, name: str) -> Cluster:
    """A cluster that somebody unjoins."""
    metadata = msgspec.structs.replace(cluster.metadata, name=name, deletion_timestamp=at(0))
    return msgspec.structs.replace(cluster, metadata=metadata)


def never_ready(cluster: Cluster) -> Cluster:
    return msgspec.structs.replace(cluster, status=msgspec.structs.replace(cluster.status, kubernetes_version=""))


def fleet(alive: int, lost: int) -> list[Cluster]:
    return [joined(cluster(f"alive{n}")) for n in range(alive)] + [joined(dead(f"lost{n}")) for n in range(lost)]


@pytest.mark.parametrize(
    ("alive", "lost", "alarming"),
    [
        (0, 0, False),
        (1, 0, False),
        (1, 1, False),
        (1, 2, False),
        (2, 3, True),
        (3, 3, False),
        (0, 1, True),
        (4, 5, True),
    ],
)
def test_s4_the_alarm_needs_three_and_more_than_55_percent_or_all(alive: int, lost: int, alarming: bool) -> None:
    assert is_alarming(fleet(alive, lost), SETTINGS) is alarming


def test_s4_the_threshold_itself_is_no_alarm() -> None:
    assert not is_alarming(fleet(2, 3), BrakeSettings(threshold=0.6))
    assert is_alarming(fleet(2, 3), BrakeSettings(threshold=0.59))
    assert not is_alarming(fleet(0, 3), BrakeSettings(enabled=False))


def test_clusters_that_never_were_ready_do_not_count() -> None:
    newcomers = [dead(f"new{n}") for n in range(5)]
    assert not is_alarming([*fleet(2, 0), *newcomers], SETTINGS)


def test_a_status_that_could_not_be_collected_is_not_death() -> None:
    refused = Condition("Ready", "False", "StatusCollectionFailed", last_transition_time=at(0))
    unknown = [
        msgspec.structs.replace(c, status=msgspec.structs.replace(c.status, conditions=(refused,))) for c in fleet(0, 4)
    ]
    assert not is_alarming(unknown, SETTINGS)


def test_it_is_engaged_at_once_and_released_after_a_calm_minute() -> None:
    engaged = decide_brake(Brake(), fleet(0, 3), at(0), SETTINGS).brake
    assert engaged == Brake(since=at(0))
    calming = decide_brake(engaged, fleet(2, 1), at(100), SETTINGS)
    assert (calming.brake, calming.wake_at) == (Brake(at(0), calm_since=at(100)), at(160))
    assert decide_brake(calming.brake, fleet(2, 1), at(159), SETTINGS).brake.engaged
    assert not decide_brake(calming.brake, fleet(2, 1), at(160), SETTINGS).brake.engaged


def test_a_new_alarm_ends_the_calm() -> None:
    calming = Brake(at(0), calm_since=at(100))
    assert decide_brake(calming, fleet(0, 3), at(130), SETTINGS).brake == Brake(at(0))


def test_a_calm_that_was_dated_ahead_counts_from_now() -> None:
    decision = decide_brake(Brake(since=at(0), calm_since=at(3600)), [cluster("m1"), cluster("m2")], at(10), SETTINGS)
    assert (decision.brake.calm_since, decision.wake_at) == (at(10), at(10 + SETTINGS.release_seconds))


def test_released_by_hand_it_stays_released_until_the_alarm_is_over() -> None:
    overruled = Brake(overruled=True)
    assert not holds(overruled, fleet(0, 3), SETTINGS)
    assert decide_brake(overruled, fleet(0, 3), at(0), SETTINGS).brake == overruled
    assert decide_brake(overruled, fleet(3, 0), at(0), SETTINGS).brake == Brake()


AGAIN = "evictions begin again at 2026-01-01T00:01:05Z, unless more clusters fail. Now"


@pytest.mark.parametrize(
    ("before", "clusters", "seconds", "vanished", "reason", "message"),
    [
        (Brake(), fleet(3, 0), 0, (), "FleetLooksWell", "0 of 3 clusters seem to be down"),
        (Brake(), fleet(2, 1), 0, (), "FleetLooksWell", "1 of 3 clusters seems to be down"),
        (
            Brake(),
            fleet(5, 1),
            0,
            ("gone",),
            "ClustersVanished",
            "1 of 6 clusters seems to be down; 1 of 7 are not listed, though nobody has unjoined them (gone), "
            "and bindings that name them stay as they are",
        ),
        (
            Brake(),
            fleet(1, 3),
            0,
            (),
            "FleetLooksDead",
            "3 of 4 clusters seem to be down (lost0, lost1, lost2). The brake stops automatic evictions until the "
            "clusters are back, or until `leeward brake release`",
        ),
        (
            Brake(),
            fleet(1, 1),
            0,
            ("gone2", "gone1"),
            "ClustersVanished",
            "1 of 2 clusters seems to be down; 2 of 4 are not listed, though nobody has unjoined them (gone1, gone2), "
            "and bindings that name them stay as they are (lost0, gone2, gone1). The brake stops automatic evictions "
            "until the clusters are back, or until `leeward brake release`",
        ),
        (Brake(overruled=True), fleet(0, 3), 0, (), "Overruled", "released by hand: 3 of 3 clusters seem to be down"),
        (
            Brake(at(0)),
            fleet(2, 1),
            5,
            (),
            "FleetLooksDead",
            f"{AGAIN} 1 of 3 clusters seems to be down",
        ),
        (
            Brake(at(0), silence=Silence(at(0))),
            fleet(2, 1),
            5,
            (),
            "SilentAtOnce",
            f"{AGAIN} 1 of 3 clusters seems to be down",
        ),
        (
            Brake(at(0), silence=Silence(at(0), spent=True)),
            fleet(2, 1),
            5,
            (),
            "FleetLooksDead",
            f"{AGAIN} 1 of 3 clusters seems to be down",
        ),
        (
            Brake(at(0)),
            fleet(3, 0),
            5,
            ("gone",),
            "ClustersVanished",
            f"{AGAIN} 0 of 3 clusters seem to be down; 1 of 4 are not listed, though nobody has unjoined them (gone), "
            "and bindings that name them stay as they are",
        ),
        (
            Brake(),
            fleet(3, 0),
            0,
            ("gone",),
            "ClustersVanished",
            "gone is in no list of clusters, and nobody has unjoined it (there is its execution space "
            "karmada-es-gone); bindings that name it stay as they are",
        ),
        (
            Brake(),
            fleet(5, 0),
            0,
            ("b", "a"),
            "ClustersVanished",
            "a, b are in no list of clusters, and nobody has unjoined them (there are their execution spaces "
            "karmada-es-a, karmada-es-b); bindings that name them stay as they are",
        ),
        (Brake(at(0), at(5)), fleet(2, 1), 65, (), "FleetLooksWell", "released: 1 of 3 clusters seems to be down"),
        (
            Brake(at(0), overruled=True),
            fleet(2, 1),
            5,
            (),
            "FleetLooksWell",
            "released: 1 of 3 clusters seems to be down",
        ),
    ],
    ids=[
        "all is well",
        "well",
        "one dead, one vanished",
        "dead",
        "vanished",
        "overruled",
        "calming",
        "calming after a silence",
        "calming long after a silence",
        "calming, but for one",
        "one vanished",
        "two vanished",
        "released",
        "released by hand",
    ],
)
def test_a_person_reads_how_it_is_and_the_way_out(
    before: Brake, clusters: list[Cluster], seconds: float, vanished: tuple[str, ...], reason: str, message: str
) -> None:
    decision = decide_brake(before, clusters, at(seconds), SETTINGS, vanished)
    assert (decision.reason, decision.message) == (reason, message)


def test_s5_one_of_three_that_has_vanished_is_less_than_half() -> None:
    assert not is_alarming(fleet(2, 0), SETTINGS, vanished=("gone",))
    assert is_alarming(fleet(1, 0), SETTINGS, vanished=("gone",))


def test_it_holds_already_before_its_state_is_written() -> None:
    assert holds(Brake(), fleet(0, 3), SETTINGS)


def test_s4_it_holds_until_it_is_released_though_the_fleet_looks_well() -> None:
    """The minute before a release: clusters are back, and may be gone again in the next moment."""
    calming = decide_brake(Brake(at(0)), fleet(3, 0), at(100), SETTINGS).brake
    assert holds(calming, fleet(3, 0), SETTINGS)
    released = decide_brake(calming, fleet(3, 0), at(160), SETTINGS).brake
    assert not holds(released, fleet(3, 0), SETTINGS)
    assert not holds(calming, fleet(3, 0), BrakeSettings(enabled=False))


@pytest.mark.parametrize(
    ("alive", "lost", "leaving_alive", "leaving_lost", "alarming"),
    [(2, 2, 0, 1, False), (1, 2, 0, 1, False), (2, 3, 2, 0, True), (0, 1, 3, 0, True)],
)
def test_s4_clusters_that_are_being_deleted_are_no_part_of_the_fleet(
    alive: int, lost: int, leaving_alive: int, leaving_lost: int, alarming: bool
) -> None:
    """Neither as lost, where they would raise the alarm, nor as alive, where they would keep it off."""
    staying = fleet(alive, lost)
    going = [leaving(each, f"leaving-{each.name}") for each in fleet(leaving_alive, leaving_lost)]
    assert is_alarming([*staying, *going], SETTINGS) is alarming


@pytest.mark.parametrize(("alive", "lost", "held"), [(2, 1, True), (5, 1, False), (2, 0, False), (1, 1, True)])
def test_s4_evictions_are_held_while_those_that_begin_to_fail_would_raise_the_alarm(
    alive: int, lost: int, held: bool
) -> None:
    """Two of those that are alive fail; nothing is engaged for it."""
    doubt = Condition(FAILING_CONDITION, "True", "ClusterNotReachable", last_transition_time=at(0))
    clusters = [
        msgspec.structs.replace(c, status=msgspec.structs.replace(c.status, conditions=(*c.status.conditions, doubt)))
        if c.name in ("alive0", "alive1")
        else c
        for c in fleet(alive, lost)
    ]
    assert holds(Brake(), clusters, SETTINGS) is held
    assert not decide_brake(Brake(), clusters, at(0), SETTINGS).brake.engaged
    assert not holds(Brake(overruled=True), clusters, SETTINGS)


def test_its_state_survives_being_written() -> None:
    decision = decide_brake(Brake(at(0)), fleet(2, 1), at(100), SETTINGS)
    assert parse_brake(render_brake(decision)) == decision.brake
    assert parse_brake({"since": "yesterday"}) == Brake()
    overruled = decide_brake(Brake(overruled=True), fleet(0, 3), at(100), SETTINGS)
    assert parse_brake(render_brake(overruled)) == Brake(overruled=True)


@pytest.mark.parametrize(
    "silence",
    [Silence(at(0)), Silence(at(0), spent=True), Silence(at(0), True, at(700)), Silence(at(0), quiet_since=at(30))],
)
def test_its_doubt_survives_being_written(silence: Silence) -> None:
    written = render_silence(silence)
    assert parse_silence(written) == silence
    assert written.get("silenceQuietSince") == (format_time(silence.quiet_since) if silence.quiet_since else None)


@pytest.mark.parametrize(("hold", "spent"), [(600, False), (599, True), (598, True)])
def test_s4_a_doubt_is_spent_at_its_own_bound_whatever_the_calm_after_it(hold: int, spent: bool) -> None:
    for calm in (1, 60, 5000):
        found = follow_silence(Silence(at(0)), at(599), (hold, calm), ALWAYS, is_silent=True, overruled=False)
        assert found == Silence(at(0), spent)


def test_its_state_is_plain_to_see_in_the_config_map() -> None:
    """Keys are compared as they are found in a fleet that runs."""
    calming = render_brake(decide_brake(Brake(at(0)), fleet(2, 1), at(100), SETTINGS))
    told = json.loads(calming.pop("condition"))
    assert calming == {"since": "2026-01-01T00:00:00Z", "calmSince": "2026-01-01T00:01:40Z"}
    assert told == {
        "type": "Engaged",
        "status": "True",
        "reason": "FleetLooksDead",
        "message": f"{AGAIN} 1 of 3 clusters seems to be down".replace("00:01:05", "00:02:40"),
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    overruled = render_brake(decide_brake(Brake(overruled=True), fleet(0, 3), at(100), SETTINGS))
    assert json.loads(overruled["condition"])["status"] == "False"
    assert overruled["overruled"] == "true"
    assert parse_brake({"since": "2026-01-01T00:00:00Z", "overruled": "false"}) == Brake(at(0))


@pytest.mark.parametrize(
    ("alive", "lost", "vanished", "alarming"),
    [(0, 0, 1, True), (3, 0, 1, False), (2, 0, 2, True), (2, 2, 1, True), (4, 1, 1, False), (9, 0, 9, True)],
)
def test_s5_clusters_that_have_vanished_count_as_lost_and_half_of_the_fleet_is_an_alarm(
    alive: int, lost: int, vanished: int, alarming: bool
) -> None:
    names = [f"vanished{n}" for n in range(vanished)]
    decision = decide_brake(Brake(), fleet(alive, lost), at(0), SETTINGS, names)
    assert decision.brake.engaged is alarming
    assert decision.reason == "ClustersVanished"
    assert names[0] in decision.message


def test_s5_the_brake_is_released_a_while_after_the_clusters_are_listed_again() -> None:
    engaged = decide_brake(Brake(), [], at(0), SETTINGS, ["m1", "m2"]).brake
    calming = decide_brake(engaged, fleet(2, 0), at(100), SETTINGS)
    assert calming.brake.engaged
    assert not decide_brake(calming.brake, fleet(2, 0), at(160), SETTINGS).brake.engaged


def test_s5_vanished_is_what_is_not_listed_and_has_an_execution_space_that_nobody_deletes() -> None:
    def space(name: str, **metadata: object) -> Namespace:
        return from_wire({"metadata": {"name": name, **metadata}}, Namespace)

    leaving = space("karmada-es-m3", deletionTimestamp="2026-01-01T00:00:00Z")
    spaces = [space("default"), space("karmada-es-m1"), space("karmada-es-m2"), leaving]
    assert vanished_clusters(["m1"], spaces) == ("m2",)
    assert vanished_clusters(["m1", "m2", "m3"], spaces) == ()


def test_the_signs_of_a_cluster_are_those_by_which_the_brake_goes() -> None:
    there = joined(cluster("a"))
    leaving = msgspec.structs.replace(there, metadata=msgspec.structs.replace(there.metadata, deletion_timestamp=at(1)))
    doubt = Condition(FAILING_CONDITION, "True", "ClusterNotReachable", "", at(1))
    conditions = (*there.status.conditions, doubt)
    failing = msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, conditions=conditions))
    assert [signs_of(each) for each in (cluster("a"), there, joined(dead("a")), failing, leaving)] == [
        (False, False, False, False),
        (False, False, True, False),
        (True, False, True, False),
        (False, True, True, False),
        (False, False, True, True),
    ]


def silent(
    name: str,
    since: float,
    mode: str = "Push",
    answer: str = NO_ANSWER,
    turned_after: float | None = 30,
    reason: str = "ClusterNotReachable",
    **place: Any,
) -> Cluster:
    """A cluster that was not seen since then, and whose Ready turned half a minute later."""
    there = joined(cluster(name, "False" if mode == "Push" else "Unknown", sync_mode=mode))
    turned_at = None if turned_after is None else at(since + turned_after)
    turned = Condition("Ready", there.ready.status if there.ready else "", reason, answer, turned_at)
    unseen = Condition(LAST_SEEN_CONDITION, "False", "ClusterNotReachable", "", at(since))
    status = msgspec.structs.replace(there.status, conditions=(turned, unseen))
    return msgspec.structs.replace(there, status=status, spec=msgspec.structs.replace(there.spec, **place))


@pytest.mark.parametrize(
    ("one", "other", "held"),
    [
        (silent("a", 0), silent("b", 12), True),
        (silent("a", 0), silent("b", 13), False),
        (silent("a", 0), silent("b", 9, turned_after=40), True),
        (silent("a", 0), silent("b", 13, turned_after=17), False),
        (silent("a", 0), leaving(silent("b", 0), "b"), False),
        (silent("a", 0), never_ready(silent("b", 0)), False),
        (silent("a", 0), silent("b", 0, reason="StatusCollectionFailed"), False),
        (silent("a", 0, turned_after=None), silent("b", 0, turned_after=None), False),
        (silent("a", 0), silent("b", 0, answer="cluster is not reachable"), False),
        (silent("a", 0, region="north"), silent("b", 0, region="north"), False),
        (silent("a", 0, zone="1"), silent("b", 0, zone="1"), False),
        (silent("a", 0, zones=("1", "2")), silent("b", 0, zone="2"), False),
        (silent("a", 0, provider="x"), silent("b", 0, provider="x"), False),
        (silent("a", 0, provider="x", region="north"), silent("b", 0, provider="y", region="south"), True),
        (silent("a", 0, "Pull", "agent"), silent("b", 12, "Pull", "agent"), True),
        (silent("a", 0, "Pull"), silent("b", 13, "Pull"), False),
        (silent("a", 0, "Pull"), silent("b", 15, "Pull", turned_after=15), True),
        (silent("a", 0, "Pull"), silent("b", 22), True),
        (silent("a", 0, "Pull"), silent("b", 23), False),
    ],
)
def test_s4_clusters_that_fall_silent_at_once_and_share_no_place_are_held(
    one: Cluster, other: Cluster, held: bool
) -> None:
    for size in (1, 2, 8):
        clusters = [*fleet(size, 0), one, other]
        decision = decide_brake(Brake(), clusters, at(60), SETTINGS)
        assert (decision.brake.engaged, decision.reason == "SilentAtOnce") == (held, held)
        assert not decide_brake(Brake(), clusters, at(60), BrakeSettings(silence_seconds=0)).brake.engaged
        assert not decide_brake(Brake(), clusters, at(60), BrakeSettings(enabled=False)).brake.engaged


def test_s4_silence_is_held_for_a_bounded_time_and_can_be_overruled() -> None:
    clusters = [*fleet(1, 0), silent("a", 0), silent("b", 0)]
    held = decide_brake(Brake(), clusters, at(60), SETTINGS)
    assert held.wake_at == at(630)
    assert decide_brake(Brake(overruled=True), clusters, at(60), SETTINGS).reason == "Overruled"
    over = decide_brake(held.brake, clusters, at(630), SETTINGS)
    assert over.wake_at == at(690)
    assert not decide_brake(over.brake, clusters, at(690), SETTINGS).brake.engaged


def test_s4_the_hold_of_silence_counts_from_the_last_that_fell_silent_at_once() -> None:
    pairs = [silent("a", 0), silent("b", 0), silent("c", 300), silent("d", 300), silent("e", 600)]
    assert silent_until(pairs, SETTINGS) == at(930)
    assert silent_until(reversed(pairs), SETTINGS) == at(930)


def test_s4_a_mass_alarm_goes_before_silence_and_leaves_the_doubt_as_it_is() -> None:
    """Alarm has no bound; and it is no calm after which clusters that flap may be held anew."""
    clusters = [*fleet(1, 1), silent("a", 0), silent("b", 0)]
    brake = Brake(at(60), silence=Silence(at(60)))
    for now in (100, 200, 900):
        decision = decide_brake(brake, clusters, at(now), SETTINGS)
        assert (decision.reason, decision.brake, decision.wake_at) == ("FleetLooksDead", brake, None)


@pytest.mark.parametrize("released_at", [None, 50, 100])
def test_s4_clusters_that_flap_together_hold_the_fleet_for_a_bounded_time(released_at: int | None) -> None:
    """Two are down for 60 s and up for 50 s, for ever. Each state goes through the ConfigMap."""
    brake, engaged = Brake(), list[int]()
    for now in range(0, 4000, 10):
        began = now // 110 * 110
        pair = [silent(name, began - 30) if now < began + 60 else joined(cluster(name)) for name in ("a", "b")]
        if now == released_at:
            brake = replace(brake, overruled=True)
        brake = parse_brake(render_brake(decide_brake(brake, [*fleet(1, 0), *pair], at(now), SETTINGS)))
        engaged += [now] if brake.engaged else []
    assert engaged[0] == 0
    assert engaged[-1] < (released_at or 600 + 60 + 50)
    calm = [*fleet(1, 0), joined(cluster("a")), joined(cluster("b"))]
    for now in (4000, 4060):
        brake = decide_brake(brake, calm, at(now), SETTINGS).brake
    assert brake == Brake(), "calm for long enough"
    assert decide_brake(brake, [*fleet(1, 0), silent("a", 4040), silent("b", 4040)], at(4070), SETTINGS).brake.engaged


def test_s4_a_mass_alarm_before_it_leaves_silence_its_bound() -> None:
    pair = [*fleet(1, 0), silent("a", 4000), silent("b", 4000)]
    held = decide_brake(Brake(since=at(0)), pair, at(4040), SETTINGS)
    assert (held.reason, held.wake_at, held.brake.since) == ("SilentAtOnce", at(4630), at(0))
