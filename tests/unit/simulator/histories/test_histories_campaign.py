"""Campaigns: every seed is accounted for, also one that has no end."""

from collections import Counter

import pytest

from simulator.histories.campaign import Campaign, Report, run_campaign
from simulator.histories.rare import FLOOR_HISTORIES, RARE

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def examine(seed: int) -> Report:
    if seed == 2:
        raise RuntimeError("the machine itself is broken")
    return Report(seed, (), Counter(dict.fromkeys(RARE[1:], 1)), 0.5)


def test_a_seed_that_raises_fails_by_its_number_and_the_others_count() -> None:
    campaign = Campaign()
    for report in run_campaign(range(4), 2, examine):
        campaign.add(report)
    assert campaign.played == 4
    assert [report.seed for report in campaign.failed] == [2]
    assert "RuntimeError: the machine itself is broken" in campaign.failed[0].problems[0]
    assert campaign.missed == [RARE[0]]
    assert campaign.cpu_seconds == 1.5


@pytest.mark.parametrize(("missed", "played", "is_green"), [(0, 150, True), (1, 149, True), (1, 150, False)])
def test_a_campaign_that_could_have_reached_everything_and_did_not_is_red(
    missed: int, played: int, is_green: bool
) -> None:
    assert FLOOR_HISTORIES == 150
    campaign = Campaign()
    for seed in range(played):
        campaign.add(Report(seed, (), Counter(dict.fromkeys(RARE[missed:], 1))))
    assert campaign.is_green is is_green
