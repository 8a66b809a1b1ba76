"""Outages in words: who is named, what is counted, and what is said of how long it took."""

import pytest
from msgspec.structs import replace

from leeward.answers.running_outage import brought_up_to_date
from leeward.api.meta import Condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.outage import ClusterOutage, OutageStep, StepKind
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.outages.record import OutageRecord, begin, render
from leeward.core.settings_in_force import SettingsInForce
from leeward.operations.outage_story import headline_of, recovery_of, story_of, tally
from tests.answers_page import named, over, running
from tests.builders import NOW, at, binding, dead, duplicated, targets
from tests.fleet_pictures import picture_of
from tests.unit.core.outages.looks import NO_EXECUTE, gone, held, here, look, lost


def with_steps(outage: ClusterOutage, *steps: OutageStep) -> ClusterOutage:
    return replace(outage, status=replace(outage.status, steps=steps))


@pytest.mark.parametrize(("tolerated", "said"), [(300, "was configured waiting time"), (None, "passed before it left")])
def test_what_the_slowest_waited_for_is_a_toleration_only_where_a_taint_evicted(
    tolerated: int | None, said: str
) -> None:
    outage = running()
    steps = [replace(each, tolerated_seconds=tolerated) for each in outage.status.steps if each.kind is StepKind.LEFT]
    assert recovery_of(with_steps(outage, *steps)).endswith(f"of which 10 min 30 s {said}")
    assert recovery_of(with_steps(outage)).endswith("of which 10 min 30 s passed before it left"), (
        "nobody knows why it left"
    )


DEAD = lost(NO_EXECUTE)
NO_GAIN = {"due_at": at(630), "hold": held(HeldReason.NOTHING_TO_GAIN)}
KEPT = "in member1: NothingToGain"


def kept(outage: ClusterOutage) -> list[str]:
    return [line.sentence for line in story_of(outage, NOW, SettingsInForce()) if line.sentence.endswith(KEPT)]


def web_was_kept() -> OutageRecord:
    """Record of an outage of two applications, of which `web` was kept, and is due again."""
    record = look(begin(lost()), 40, lost(), here("web"), here("nginx"))
    record = look(record, 700, DEAD, here("web", **NO_GAIN))
    return look(record, 710, DEAD, here("web", due_at=at(900)))


def test_a_step_goes_on_naming_who_was_meant_and_nobody_who_has_its_reason_later() -> None:
    record = web_was_kept()
    assert kept(render(record)) == [f"default/web stays {KEPT}"]
    both = look(record, 720, DEAD, here("nginx", **NO_GAIN))
    assert kept(render(both)) == [f"2 applications stay {KEPT}"]
    assert kept(render(look(record, 720, DEAD, gone=("web",)))) == [f"1 application stays {KEPT}"]
    without_web = look(both, 730, DEAD, gone=("web",))
    assert kept(render(without_web)) == [f"2 applications stay {KEPT}"]


def test_a_picture_that_is_newer_than_the_steps_names_nobody_else_in_them() -> None:
    outage = render(web_was_kept())
    nginx = named("nginx", binding(duplicated("member1"), 2, targets(member1=2)))
    says = Condition(EVICTION_HELD_CONDITION, "True", HeldReason.NOTHING_TO_GAIN.value, "so", NOW)
    nginx = replace(nginx, status=replace(nginx.status, conditions=(says,)))
    now = brought_up_to_date(outage, picture_of([dead("member1", since=-900)], [nginx], outages=(outage,)))
    assert [(each.name, each.reason) for each in now.status.listed] == [("nginx", "NothingToGain")]
    assert kept(now) == [f"2 applications stay {KEPT}"], "as the object tells at its next write"


def test_a_headline_tells_of_what_was_deleted_since_as_its_steps_do() -> None:
    record = look(begin(lost()), 40, lost())
    assert tally(render(record)) == "no application was there"
    record = look(record, 50, lost(), here("web"), here("nginx"))
    record = look(record, 650, DEAD, gone("web", is_replaced=True), gone("nginx", is_replaced=True))
    assert tally(render(record)) == "2 of 2 applications moved"
    record = look(record, 700, DEAD, gone=("web",))
    assert tally(render(record)) == "1 of 1 application moved, 1 is deleted or scaled to 0 since"
    outage = render(look(record, 710, DEAD, gone=("nginx",)))
    assert tally(outage) == "2 applications were there, and are deleted or scaled to 0 since"
    assert "2 applications leave for member2, after a toleration of 5 min" in [
        line.sentence for line in story_of(outage, NOW, SettingsInForce())
    ]


@pytest.mark.parametrize(
    ("outage", "failures", "told"),
    [
        (over(), 1, "us-1 was down for 19 min 8 s: "),
        (over(), 6, "us-1 failed 6 times in 19 min 8 s: "),
        (running(), 1, "eu-2 failed 11 min 30 s ago and is not back: "),
        (running(), 2, "eu-2 failed 2 times in 11 min 30 s and is not back: "),
    ],
)
def test_a_cluster_that_was_ready_between_was_not_away_all_the_time(
    outage: ClusterOutage, failures: int, told: str
) -> None:
    flapping = replace(outage, status=replace(outage.status, failures=failures))
    assert headline_of(flapping, NOW).startswith(told)
