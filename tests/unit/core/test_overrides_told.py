"""Statements on overrides: on the Work what was carried out, on the binding what could not be."""

import msgspec
import pytest

from kubeapi.codec import decode_any, from_wire
from leeward.api.meta import Condition
from leeward.api.names import OVERRIDE_FAILED_CONDITION
from leeward.api.override import ClusterOverridePolicy, OverridePolicy, Overriders
from leeward.api.work import ResourceBindingStatus
from leeward.core.binding_status import tell
from leeward.core.overrides.applied import joined, policies_in, render_applied
from leeward.core.overrides.failures import (
    MAX_MESSAGE_CHARACTERS,
    describe_policy,
    overrides_failed,
)
from leeward.core.overrides.rendering import OverrideFailure
from tests.builders import at

OWN = from_wire({"metadata": {"name": "p", "namespace": "default"}, "spec": {}}, OverridePolicy)
FOR_ALL = from_wire({"metadata": {"name": "c"}, "spec": {}}, ClusterOverridePolicy)


def test_a_policy_is_told_by_kind_namespace_and_name() -> None:
    assert describe_policy(OWN) == "OverridePolicy default/p"
    assert describe_policy(FOR_ALL) == "ClusterOverridePolicy c"


def test_a_binding_says_where_its_overrides_fail_and_why() -> None:
    failures = {
        "m3": OverrideFailure(FOR_ALL, "no such path"),
        "m1": OverrideFailure(OWN, "bad image"),
        "m2": OverrideFailure(OWN, "bad image"),
        "m4": OverrideFailure(None, "too many policies"),
    }
    assert overrides_failed(failures) == Condition(
        "leeward.dev/OverrideFailed",
        "True",
        "ApplyOverridePolicyFailed",
        "Left as it is in m1, m2: OverridePolicy default/p: bad image; "
        "in m3: ClusterOverridePolicy c: no such path; in m4: too many policies",
    )
    assert overrides_failed({}) is None


@pytest.mark.parametrize("beyond", [0, 1])
def test_what_is_said_is_short_whatever_was_written(beyond: int) -> None:
    room = MAX_MESSAGE_CHARACTERS - len("Left as it is in m1: ")
    failed = overrides_failed({"m1": OverrideFailure(None, "x" * (room + beyond))})
    assert failed is not None
    assert len(failed.message) == MAX_MESSAGE_CHARACTERS
    assert failed.message.endswith("xxx..." if beyond else "xxxx")


def test_a_status_says_so_beside_all_else_and_later_nothing_of_it() -> None:
    other = Condition("FullyApplied", "True", "FullyAppliedSuccess", "all of it", at(0))
    status = ResourceBindingStatus(scheduler_observed_generation=4, conditions=(other,))
    failed = overrides_failed({"m1": OverrideFailure(OWN, "bad image")})
    assert failed is not None
    told = tell(status, {OVERRIDE_FAILED_CONDITION: failed}, at(60))
    assert told.scheduler_observed_generation == 4
    assert told.conditions == (other, msgspec.structs.replace(failed, last_transition_time=at(60)))
    assert tell(told, {OVERRIDE_FAILED_CONDITION: failed}, at(120)) == told, "nothing is written again"
    assert tell(told, {OVERRIDE_FAILED_CONDITION: None}, at(180)) == status


def test_the_policies_of_an_annotation_are_read_whatever_stands_there() -> None:
    written = joined(render_applied(name, Overriders()) for name in ("a", "b"))
    assert policies_in(written) == {"a", "b"}
    for text in ("", "[]", "nonsense", '{"policyName":"a"}', "7"):
        assert policies_in(text) == frozenset()


def test_what_was_applied_is_told_as_go_writes_it() -> None:
    operation = {"subPath": "/a", "operator": "remove"}
    wire = {
        "annotationsOverrider": [{"operator": "add", "value": {"z": "1", "a": "2"}}],
        "fieldOverrider": [
            {"fieldPath": "/data/j", "json": [operation]},
            {"fieldPath": "/data/y", "yaml": [operation]},
        ],
    }
    told = render_applied("p", from_wire(wire, Overriders))
    assert told.index('"a":"2"') < told.index('"z":"1"'), "keys are in order"
    fields = decode_any(told.encode())["overriders"]["fieldOverrider"]
    without_a_value = {**operation, "value": None}
    assert fields == [
        {"fieldPath": "/data/j", "json": [without_a_value]},
        {"fieldPath": "/data/y", "yaml": [without_a_value]},
    ]
