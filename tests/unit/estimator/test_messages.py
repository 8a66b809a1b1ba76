"""Karmada's messages: what protobuf's own encoder has written is read, and what is written is read again as it was."""

import pytest

from kubeapi.codec import from_wire
from kubeapi.core import NodeSelector, Toleration
from kubeapi.protobuf_wire import bytes_field, fields, integer_field, message_of
from leeward.api.work import BindingResource, Component, ComponentReplicaRequirements, NodeClaim, ReplicaRequirements
from leeward.core.scheduling.estimates import Question
from leeward.estimator.messages import (
    AVAILABLE_REPLICAS,
    AVAILABLE_SETS,
    RoomRequest,
    UnschedulableRequest,
    read_count,
    read_replicas_request,
    read_sets_request,
    read_unschedulable_request,
    write_count,
    write_room_request,
    write_unschedulable_request,
)

WRITTEN_BEFORE_1_18 = bytes.fromhex(
    "0a076d656d62657231128a010a5c0a300a2e0a100a047a6f6e651202496e1a01611a0162121a0a0d6d657461646174612e6e616d6512054e6f"
    "74496e1a026e31120b0a046469736b12037373641a1b0a036770751206457869737473220a4e6f5363686564756c65281e120d0a0363707512"
    "060a043530306d120f0a066d656d6f727912050a033147691a0473686f70220468696768"
)
WRITTEN_AFTER_1_18 = bytes.fromhex(
    "0a076d656d62657231128a010a5c120b0a046469736b120373736422300a2e0a100a047a6f6e651202496e1a01611a0162121a0a0d6d657461"
    "646174612e6e616d6512054e6f74496e1a026e312a1b0a036770751206457869737473220a4e6f5363686564756c65281e1a0473686f702204"
    "686967682a0d0a0363707512060a043530306d2a0f0a066d656d6f727912050a033147691a1e0a0473686f7012160a046d61696e120c220a0a"
    "0363707512030a01311802"
)
SETS = bytes.fromhex(
    "0a076d656d62657231121b0a036a6f621212120a0a0363707512030a01311a0468696768180112250a047461736b121b0a0d120b0a04646973"
    "6b1203737364220a0a0363707512030a013218031a0473686f70"
)
UNSCHEDULABLE = bytes.fromhex(
    "0a076d656d6265723112200a07617070732f7631120a4465706c6f796d656e741a0473686f7022037765621880f092cbdd08"
)
"""Written by Google's protobuf for Python from the numbers of Karmada's own description."""

TERM = {
    "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
    "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}],
}
CLAIM = NodeClaim(
    hard_node_affinity=from_wire({"nodeSelectorTerms": [TERM]}, NodeSelector),
    node_selector={"disk": "ssd"},
    tolerations=(Toleration(key="gpu", operator="Exists", effect="NoSchedule", toleration_seconds=30),),
)
ASKED = Question(
    ReplicaRequirements(
        node_claim=CLAIM,
        resource_request={"cpu": "500m", "memory": "1Gi"},
        priority_class_name="high",
        namespace="shop",
    )
)
SET = Question(
    None,
    (
        Component(
            name="job",
            replicas=1,
            replica_requirements=ComponentReplicaRequirements(
                resource_request={"cpu": "1"}, priority_class_name="high"
            ),
        ),
        Component(
            name="task",
            replicas=3,
            replica_requirements=ComponentReplicaRequirements(
                node_claim=NodeClaim(node_selector={"disk": "ssd"}), resource_request={"cpu": "2"}
            ),
        ),
    ),
)
WEB = BindingResource(api_version="apps/v1", kind="Deployment", namespace="shop", name="web")


def test_what_karmada_has_sent_before_1_18_is_read() -> None:
    assert read_replicas_request(WRITTEN_BEFORE_1_18) == RoomRequest("member1", ASKED)


def test_what_karmada_sends_now_is_read_with_what_is_on_its_way_there() -> None:
    main = ComponentReplicaRequirements(resource_request={"cpu": "1"})
    assumed = (Component(name="main", replicas=2, replica_requirements=main),)
    assert read_replicas_request(WRITTEN_AFTER_1_18) == RoomRequest("member1", ASKED, assumed)


def test_sets_of_components_are_read_in_both_ways_of_writing_them() -> None:
    assert read_sets_request(SETS) == RoomRequest("member1", SET)


@pytest.mark.parametrize("question", [ASKED, Question(ReplicaRequirements())], ids=["much", "nothing"])
def test_a_question_is_written_for_those_before_1_18_and_after(question: Question) -> None:
    method, written = write_room_request(RoomRequest("member1", question))
    assert (method, read_replicas_request(written)) == (AVAILABLE_REPLICAS, RoomRequest("member1", question))
    for numbers in ({1: {1, 2, 3}, 0: {1, 2, 3, 4}}, {1: {2, 4, 5}, 0: {1, 3, 4, 5}}):
        alone = b"".join(part for part in _only(written, numbers))
        assert read_replicas_request(alone) == RoomRequest("member1", question)


def _only(written: bytes, numbers: dict[int, set[int]]) -> list[bytes]:
    """The question with these fields of its requirements (0), and these of its claim (1)."""
    requirements = b""
    for number, raw in fields(message_of(dict(fields(written))[2])):
        content = message_of(raw)
        if number == 1:
            content = b"".join(bytes_field(n, message_of(part)) for n, part in fields(content) if n in numbers[1])
        if number in numbers[0]:
            requirements += bytes_field(number, content)
    return [bytes_field(1, b"member1"), bytes_field(2, requirements)]


def test_a_replica_that_asks_for_nothing_is_a_question_too() -> None:
    method, written = write_room_request(RoomRequest("member1", Question(None)))
    assert method == AVAILABLE_REPLICAS
    assert read_replicas_request(written).question == Question(ReplicaRequirements())


def test_sets_are_written_as_they_are_read() -> None:
    method, written = write_room_request(RoomRequest("member1", SET))
    assert (method, read_sets_request(written)) == (AVAILABLE_SETS, RoomRequest("member1", SET))


def test_a_workload_and_its_threshold_are_written_as_karmada_writes_them() -> None:
    request = UnschedulableRequest("member1", WEB, 300)
    assert write_unschedulable_request(request) == UNSCHEDULABLE
    assert read_unschedulable_request(UNSCHEDULABLE) == request


def test_a_threshold_below_zero_is_none() -> None:
    assert read_unschedulable_request(UNSCHEDULABLE + integer_field(3, -5)).threshold_seconds == 0


@pytest.mark.parametrize(
    ("written", "count"),
    [("0807", 7), ("08ffffffffffffffffff01", -1), ("08ffffffff07", 2**31 - 1), ("", 0), ("100708032a00", 3)],
    ids=["seven", "negative", "most", "none", "among unknown fields"],
)
def test_a_count_is_read_as_it_was_written(written: str, count: int) -> None:
    assert read_count(bytes.fromhex(written)) == count


@pytest.mark.parametrize(("count", "written"), [(7, 7), (-3, 0), (2**40, 2**31 - 1)])
def test_a_count_is_written_within_its_32_bits(count: int, written: int) -> None:
    assert read_count(write_count(count)) == written


@pytest.mark.parametrize(
    "garbled",
    [b"\x0a\xff", b"\x12\x05\x0a", b"\x12\x03\x12\x80\x80", b"\x0a\x01\xff", b"\x10\x01", b"\xff" * 12],
    ids=["cut", "short", "inner", "no text", "a number for a message", "no number"],
)
def test_what_is_garbled_is_refused(garbled: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_replicas_request(garbled)
