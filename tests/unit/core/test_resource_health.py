"""Health of member objects: the API's closed set, and what each word means to whom."""

from typing import get_args

import pytest

from leeward.api.work import AggregatedStatusItem, Health
from leeward.core.interpreter.resource_health import (
    ResourceHealth,
    health_in,
    health_rules_in,
    rules_of_health,
)


def test_the_table_has_the_words_of_the_api_and_no_other() -> None:
    assert {*ResourceHealth, ""} == {*get_args(Health)}


@pytest.mark.parametrize(
    ("health", "is_well", "has_failed", "ends_failure", "is_known"),
    [
        (ResourceHealth.HEALTHY, True, False, True, True),
        (ResourceHealth.UNHEALTHY, False, True, False, True),
        (ResourceHealth.UNKNOWN, False, False, True, False),
    ],
)
def test_what_a_word_means(
    health: ResourceHealth, is_well: bool, has_failed: bool, ends_failure: bool, is_known: bool
) -> None:
    report = AggregatedStatusItem(cluster_name="a", health=health.value)
    rules = health_rules_in(report)
    assert health_in(report) is health
    assert rules == rules_of_health(health)
    assert (rules.is_well, rules.has_failed, rules.ends_failure) == (is_well, has_failed, ends_failure)
    assert rules.is_known is is_known


def test_where_nothing_is_said_nobody_relies_on_it_and_no_clock_begins_or_ends_s1() -> None:
    report = AggregatedStatusItem(cluster_name="a")
    rules = health_rules_in(report)
    assert health_in(report) is None
    assert (rules.is_well, rules.has_failed, rules.ends_failure) == (False, False, False)
