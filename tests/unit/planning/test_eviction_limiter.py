"""Evictions are limited: so many a second, and so many at a time out of a cluster that is drained."""

from datetime import datetime, timedelta

import msgspec
import pytest

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.names import DRAIN_BUDGET_ANNOTATION, DRAIN_TAINT
from leeward.core.eviction.due_evictions import Eviction, drain_budget
from leeward.core.eviction.held_reasons import Deferral
from leeward.core.placement import Decision, EvictionBudget
from leeward.planning.eviction_limiter import EvictionLimiter
from tests.builders import cluster

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def drained(name: str, budget: str = "2", ready: str = "True") -> Cluster:
    drained = cluster(name, ready=ready)
    metadata = msgspec.structs.replace(drained.metadata, annotations={DRAIN_BUDGET_ANNOTATION: budget})
    return msgspec.structs.replace(drained, metadata=metadata)


class Binding:
    """A binding that leaves its clusters as soon as it may."""

    def __init__(self, *clusters: str, taint: str = DRAIN_TAINT) -> None:
        self._clusters = clusters
        self._taints = (Taint(taint, "NoExecute"),) if taint else ()

    def decide(self, budget: EvictionBudget, now: datetime) -> Decision:
        evictions = [Eviction(name, self._taints) for name in self._clusters]
        deferred = budget.defers(evictions, now)
        evicted = tuple(each for each in evictions if each.cluster not in deferred)
        wake_at = budget.turn_at if Deferral.RATE in deferred.values() else None
        return Decision((), (), evicted=evicted, deferred=deferred, wake_at=wake_at)


def leave(
    limiter: EvictionLimiter[str], key: str, binding: Binding, seconds: float, *fleet: Cluster
) -> tuple[set[str], float]:
    """The clusters that it leaves, and in how many seconds it is to ask again."""
    now = after(seconds)
    decision = binding.decide(limiter.budget(key, {c.name: c for c in fleet}, now), now)
    limiter.settle(key, decision, now)
    wait = decision.wake_at - after(seconds) if decision.wake_at else timedelta()
    return {eviction.cluster for eviction in decision.evicted}, wait.total_seconds()


def test_c4_at_a_rate_of_one_in_two_seconds_the_third_leaves_after_four() -> None:
    limiter, web = EvictionLimiter[str](0.5), Binding("member1")
    asked = [leave(limiter, key, web, 0) for key in "abc"]
    assert asked == [({"member1"}, 0), (set(), 2), (set(), 4)]
    assert leave(limiter, "c", web, 3) == (set(), 1)
    assert leave(limiter, "b", web, 2) == ({"member1"}, 0)
    assert leave(limiter, "c", web, 4) == ({"member1"}, 0)
    assert leave(limiter, "d", web, 5) == (set(), 1)


def test_c4_a_step_of_the_wall_clock_moves_all_turns_with_it() -> None:
    """An hour forward on the wall, while the monotonic clock says that a second has passed; and back again."""
    limiter, web = EvictionLimiter[str](0.5), Binding("member1")
    limiter.look(after(0), 100)
    assert [leave(limiter, key, web, 0) for key in "abc"] == [({"member1"}, 0), (set(), 2), (set(), 4)]
    limiter.look(after(3601), 101)
    assert [leave(limiter, key, web, 3601) for key in "bcd"] == [(set(), 1), (set(), 3), (set(), 5)]
    limiter.look(after(3602), 102)
    assert leave(limiter, "b", web, 3602) == ({"member1"}, 0)
    limiter.look(after(3), 103)
    assert [leave(limiter, key, web, 3) for key in "cd"] == [(set(), 1), (set(), 3)]


def test_c4_a_step_of_the_wall_clock_moves_the_instant_from_which_others_may_leave() -> None:
    limiter, web = EvictionLimiter[str](0.5), Binding("member1")
    for wall, monotonic in ((0, 100), (7200, 101), (0, 101)):
        limiter.look(after(wall), monotonic)
    assert leave(limiter, "a", web, 0) == ({"member1"}, 0), "nobody has left yet"
    limiter.look(after(3601), 102)
    assert leave(limiter, "b", web, 3601) == (set(), 1)
    limiter.forget("b")
    assert leave(limiter, "c", web, 3601) == (set(), 1)


def test_c4_an_eviction_of_ours_is_known_again_after_a_step_of_the_wall_clock() -> None:
    limiter, web = EvictionLimiter[str](0.5), Binding("member1")
    limiter.look(after(7200), 100)
    assert leave(limiter, "a", web, 7200) == ({"member1"}, 0)
    limiter.look(after(3), 103)
    limiter.see_evictions([after(1)], after(3))
    assert leave(limiter, "b", web, 3) == (set(), 1), "one after ours has happened elsewhere"


def test_c4_what_an_earlier_process_has_evicted_counts_to_the_second_that_is_known() -> None:
    limiter, web = EvictionLimiter[str](0.1), Binding("member1")
    limiter.see_evictions([after(100), after(90)], after(103.5))
    assert leave(limiter, "a", web, 103.5) == (set(), 7.5)
    assert leave(limiter, "b", web, 103.5) == (set(), 17.5)
    assert leave(limiter, "a", web, 111) == ({"member1"}, 0)


def test_c4_what_was_evicted_long_ago_or_by_a_wrong_clock_holds_up_nobody() -> None:
    limiter, web = EvictionLimiter[str](0.1), Binding("member1")
    limiter.see_evictions([after(50), after(3600)], after(103))
    assert leave(limiter, "a", web, 103) == ({"member1"}, 0)


def test_c4_what_it_has_evicted_itself_is_not_counted_twice() -> None:
    limiter, web = EvictionLimiter[str](1), Binding("member1")
    assert leave(limiter, "a", web, 7.3) == ({"member1"}, 0)
    limiter.see_evictions([after(7)], after(7.4))
    assert leave(limiter, "b", web, 8.3) == ({"member1"}, 0)


def test_c4_what_it_has_evicted_on_the_second_is_not_counted_twice() -> None:
    limiter, web = EvictionLimiter[str](1), Binding("member1")
    assert leave(limiter, "a", web, 7) == ({"member1"}, 0)
    limiter.see_evictions([after(7)], after(7.4))
    assert leave(limiter, "b", web, 8) == ({"member1"}, 0)


def test_c4_what_an_earlier_process_has_evicted_counts_after_a_turn_was_given_back() -> None:
    limiter, web = EvictionLimiter[str](0.1), Binding("member1")
    limiter.see_evictions([after(100)], after(103))
    assert leave(limiter, "a", web, 103) == (set(), 8)
    leave(limiter, "a", Binding(), 104)
    assert leave(limiter, "b", web, 104) == (set(), 7)


def test_a_turn_that_has_come_is_now() -> None:
    limiter, web = EvictionLimiter[str](0.5), Binding("member1")
    leave(limiter, "a", web, 0)
    turns = [limiter.budget("b", {}, after(seconds)).turn_at for seconds in (1, 2, 3)]
    assert turns == [after(2), None, None]


def test_c4_a_binding_that_leaves_two_clusters_takes_two_turns() -> None:
    limiter = EvictionLimiter[str](1)
    assert leave(limiter, "a", Binding("member1", "member2"), 0) == ({"member1", "member2"}, 0)
    assert leave(limiter, "b", Binding("member1"), 0) == (set(), 2)


def test_a_rate_of_zero_is_one_in_half_an_hour() -> None:
    limiter, web = EvictionLimiter[str](0), Binding("member1")
    assert leave(limiter, "a", web, 0) == ({"member1"}, 0)
    assert leave(limiter, "b", web, 0) == (set(), 1_800)


def test_turns_that_nobody_waits_for_any_more_hold_up_no_one() -> None:
    limiter, web = EvictionLimiter[str](0.1), Binding("member1")
    for key in "abcdef":
        leave(limiter, key, web, 0)
    for key in "bcdef":
        leave(limiter, key, Binding(), 5)
    assert leave(limiter, "g", web, 60) == ({"member1"}, 0)


def test_a_failed_application_waits_for_no_turn() -> None:
    limiter = EvictionLimiter[str](0)
    leave(limiter, "a", Binding("member1"), 0)
    assert leave(limiter, "b", Binding("member1", taint=""), 0) == ({"member1"}, 0)


def test_out_of_a_drained_cluster_go_no_more_than_its_budget_at_a_time() -> None:
    limiter, web, member1 = EvictionLimiter[str](None), Binding("member1"), drained("member1")
    assert [leave(limiter, key, web, 0, member1)[0] for key in "abcd"] == [{"member1"}, {"member1"}, set(), set()]
    assert list(limiter.next_in_line({"member1": member1})) == []
    limiter.observe("a", ())
    assert list(limiter.next_in_line({"member1": member1})) == ["c"]
    assert leave(limiter, "c", web, 1, member1)[0] == {"member1"}
    limiter.forget("b")
    assert list(limiter.next_in_line({"member1": member1})) == ["d"]


def test_one_in_line_that_stays_after_all_gives_its_place_to_the_next() -> None:
    limiter, web, member1 = EvictionLimiter[str](None), Binding("member1"), drained("member1", budget="1")
    for key in "abc":
        leave(limiter, key, web, 0, member1)
    limiter.observe("a", ())
    leave(limiter, "b", Binding(), 1, member1)
    assert list(limiter.next_in_line({"member1": member1})) == ["c"]


def test_a_budget_holds_nobody_in_a_cluster_that_has_died() -> None:
    limiter, web = EvictionLimiter[str](None), Binding("member1")
    dead = drained("member1", budget="1", ready="False")
    assert [leave(limiter, key, web, 0, dead)[0] for key in "ab"] == [{"member1"}, {"member1"}]


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("3", 3),
        ("0", 1),
        ("", None),
        ("many", None),
        ("-1", None),
        ("999999999", 999_999_999),
        pytest.param("9" * 5_000, None, id="longer than Python reads"),
    ],
)
def test_a_budget_is_at_least_one_and_what_is_none_is_no_limit(text: str, budget: int | None) -> None:
    assert drain_budget(drained("member1", budget=text)) == budget


def test_who_waits_is_told_why_for_each_cluster() -> None:
    limiter, member1 = EvictionLimiter[str](0.5), drained("member1", budget="1")
    leave(limiter, "a", Binding("member1"), 0, member1)
    budget = limiter.budget("b", {"member1": member1}, after(0))
    assert budget == EvictionBudget(after(2), {"member1": 1})
    assert Binding("member1", "member2").decide(budget, after(0)).deferred == {
        "member1": Deferral.DRAIN_BUDGET,
        "member2": Deferral.RATE,
    }


def test_a_binding_whose_part_is_on_its_way_out_is_in_nobodys_way_but_its_own() -> None:
    limiter, member1 = EvictionLimiter[str](None), drained("member1", budget="1")
    assert leave(limiter, "a", Binding("member1"), 0, member1)[0] == {"member1"}
    assert leave(limiter, "a", Binding("member1"), 1, member1)[0] == {"member1"}, "the rest of it follows"
    assert leave(limiter, "b", Binding("member1"), 1, member1)[0] == set()
    limiter.observe("a", ["member1"])
    leave(limiter, "a", Binding("member2"), 2, member1)
    assert leave(limiter, "b", Binding("member1"), 3, member1)[0] == set(), "it is still on its way out of both"
    limiter.forget("a")
    assert leave(limiter, "b", Binding("member1"), 4, member1)[0] == {"member1"}


def test_a_cluster_without_a_budget_hides_none_that_has_one() -> None:
    limiter, clusters = EvictionLimiter[str](None), (cluster("member1"), drained("member2", budget="1"))
    both = Binding("member1", "member2")
    assert leave(limiter, "a", both, 0, *clusters)[0] == {"member1", "member2"}
    assert leave(limiter, "b", both, 0, *clusters)[0] == {"member1"}
    by_hand = Binding("member2", taint="example.com/x")
    assert leave(limiter, "c", by_hand, 0, *clusters)[0] == {"member2"}, "a budget is that of the drain"


def test_as_many_of_those_in_line_follow_as_there_is_room_for() -> None:
    limiter, web, two = EvictionLimiter[str](None), Binding("member1"), drained("member1", budget="2")
    for key in "abcdef":
        leave(limiter, key, web, 0, two)
    for key in "ab":
        limiter.observe(key, ())
    assert list(limiter.next_in_line({"member1": two})) == ["c", "d"]
    assert list(limiter.next_in_line({"member1": cluster("member1")})) == ["c", "d", "e", "f"], "the budget is gone"
    assert limiter.waiting == 4
    limiter.forget("c")
    assert (limiter.waiting, list(limiter.next_in_line({"member1": two}))) == (3, ["d", "e"])


def test_one_that_waits_for_another_cluster_holds_up_no_one() -> None:
    limiter, one, other = EvictionLimiter[str](None), drained("member1", budget="1"), drained("member2", budget="1")
    leave(limiter, "a", Binding("member1"), 0, one, other)
    leave(limiter, "b", Binding("member2"), 0, one, other)
    leave(limiter, "c", Binding("member1"), 0, one, other)
    leave(limiter, "d", Binding("member2"), 0, one, other)
    limiter.observe("b", ())
    assert list(limiter.next_in_line({"member1": one, "member2": other})) == ["d"]


def test_turns_that_are_given_back_are_free_again() -> None:
    limiter, web = EvictionLimiter[str](0.1), Binding("member1")
    for key in "abc":
        leave(limiter, key, web, 0)
    limiter.forget("b")
    assert limiter.waiting == 1
    limiter.forget("c")
    assert leave(limiter, "d", web, 0) == (set(), 10)
    assert leave(limiter, "d", Binding(), 1) == (set(), 0)
    assert (limiter.waiting, leave(limiter, "e", web, 1)) == (0, (set(), 9))
    limiter.forget("nobody")
    assert leave(limiter, "e", web, 10) == ({"member1"}, 0)
    assert limiter.waiting == 0


def test_two_copies_that_wait_take_two_turns() -> None:
    limiter = EvictionLimiter[str](1)
    leave(limiter, "a", Binding("member1"), 0)
    assert leave(limiter, "b", Binding("member1", "member2"), 0) == (set(), 1)
    assert leave(limiter, "c", Binding("member1"), 0) == (set(), 3)


def test_c4_of_what_an_earlier_process_has_evicted_the_newest_second_counts_with_all_that_left_in_it() -> None:
    limiter, web = EvictionLimiter[str](0.1), Binding("member1")
    limiter.see_evictions([], after(100))
    limiter.see_evictions([after(100), after(100), after(90)], after(100))
    limiter.see_evictions([after(100)], after(101))
    limiter.see_evictions([after(95)], after(101))
    assert leave(limiter, "a", web, 102) == (set(), 19)
    unlimited = EvictionLimiter[str](None)
    unlimited.see_evictions([after(100)], after(100))
    assert leave(unlimited, "a", web, 100) == ({"member1"}, 0)


def test_a_cluster_that_was_never_drained_has_no_budget() -> None:
    assert drain_budget(cluster("member1")) is None
    assert drain_budget(None) is None


def test_who_waits_for_a_budget_without_room_costs_nothing() -> None:
    """Each change of a binding asks who is next: it looks at as many as there is room for, and not at all that wait."""
    looked_at = 0

    class Key(str):
        __slots__ = ()

        def __hash__(self) -> int:
            nonlocal looked_at
            looked_at += 1
            return super().__hash__()

    limiter, web, fleet = EvictionLimiter[str](None), Binding("member1"), {"member1": drained("member1")}
    for number in range(1_000):
        leave(limiter, Key(f"web-{number}"), web, 0, *fleet.values())
    assert limiter.waiting == 998
    looked_at = 0
    assert list(limiter.next_in_line(fleet)) == []
    assert looked_at == 0
    limiter.observe("web-0", ())
    looked_at = 0
    assert list(limiter.next_in_line(fleet)) == ["web-2"]
    assert looked_at < 10


def test_who_waits_for_two_budgets_is_named_once_and_forgotten_in_both() -> None:
    fleet = {name: drained(name, "1") for name in ("member1", "member2")}
    limiter, both = EvictionLimiter[str](None), Binding("member1", "member2")
    for key in "abc":
        leave(limiter, key, both, 0, *fleet.values())
    limiter.observe("a", ())
    assert list(limiter.next_in_line(fleet)) == ["b", "c"]
    limiter.forget("b")
    assert list(limiter.next_in_line(fleet)) == ["c"]
    assert list(limiter.next_in_line({})) == ["c"]
