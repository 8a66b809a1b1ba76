"""The table of events in docs/observability.md is the code: each reason that is told, and no other."""

import re
from pathlib import Path

from tests.event_reasons import reasons_of_ready, reasons_told

PAGE = Path(__file__).parents[3] / "docs" / "observability.md"


def documented() -> set[str]:
    table = PAGE.read_text().partition("| about | reasons | told |\n")[2].partition("\n\n")[0]
    return {reason for row in table.splitlines() for reason in re.findall(r"`(\w+)`", row.split("|")[2])}


def test_the_table_of_events_is_the_code() -> None:
    assert documented() == reasons_told()


def test_reasons_are_found_by_each_of_the_ways_in_which_they_are_told() -> None:
    assert reasons_of_ready() >= {"ClusterReady", "ClusterNotReachable", "StatusCollectionFailed"}
    assert reasons_told() >= {
        "BrakeEngaged",  # a text
        "SyncWorkFailed",  # handed on within the module
        "DependencyPolicyConflict",  # a name
        "WriteUndone",  # one of two
        "EvictionWithdrawn",  # a tuple of the module
        "AgentTellsNoGeneration",  # a warning that stands
        "ClusterNotReady",  # of a condition
        "TokenUnknown",  # of a ruling
    }
