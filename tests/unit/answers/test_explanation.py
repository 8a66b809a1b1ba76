"""Reasons that keep a binding from being carried out, explained in the words of its condition, as `status` tells it."""

from datetime import UTC, datetime

import msgspec
import pytest

from leeward.answers.explanation import ApplicationState, explain_binding
from leeward.answers.fleet_state import key_of_binding
from leeward.api.meta import Condition
from leeward.operations.binding_findings import not_overridden, refused, unremoved
from leeward.operations.findings import HINDRANCES, Observed
from tests.builders import binding, cluster, divided, targets
from tests.fleet_pictures import picture_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("condition_type", HINDRANCES)
def test_a_hindrance_is_explained_in_the_words_of_its_condition_and_of_status(condition_type: str) -> None:
    placed = binding(divided({"a": 1}), 2, targets(a=2))
    condition = Condition(condition_type, "True", "SomeReason", "what is so, and where.", last_transition_time=NOW)
    status = msgspec.structs.replace(placed.status, conditions=(*placed.status.conditions, condition))
    hindered = msgspec.structs.replace(placed, status=status)
    told = explain_binding(picture_of([cluster("a")], [hindered]), key_of_binding(hindered))
    assert (told.state, told.needs_somebody) == (ApplicationState.HINDERED, True)
    assert told.headline == f"It {HINDRANCES[condition_type]} (SomeReason): what is so, and where."
    assert told.why[-1] == "what is so, and where (SomeReason)."
    observed = Observed(NOW, bindings=(hindered,))
    (finding,) = (found for look in (refused, not_overridden, unremoved) for found in look(observed))
    assert f" {HINDRANCES[condition_type]} (SomeReason)" in finding.sentence
    assert finding.sentence.endswith(": what is so, and where.")
    well = explain_binding(picture_of([cluster("a")], [placed]), key_of_binding(placed))
    assert not well.needs_somebody
