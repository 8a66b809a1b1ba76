"""Which targets of a failover are left for the next cluster, and which were never part of it."""

import msgspec
import pytest

from leeward.api.policy import Placement
from leeward.api.work import GracefulEvictionTask, Work
from leeward.core.failover.recovery import find_withdrawal
from leeward.core.failover.stalled import find_stalled
from tests.builders import aggregated, at, binding, cluster, divided, duplicated, fleet, targets, work

GRACE_SECONDS, BEGAN = 600.0, 1000.0
LOST = GracefulEvictionTask(
    "member1", "TaintUntolerated", "TaintManager", "Gracefully", replicas=3, creation_timestamp=at(BEGAN)
)
COPIES = duplicated("member1", "member2", "member3", "member4", groups=2)
SHARES = divided({"member1": 1, "member2": 1})


def made(name: str, ready: int, seconds: float) -> Work:
    of_copy = work(name, ready, reflected=seconds)
    return msgspec.structs.replace(
        of_copy, metadata=msgspec.structs.replace(of_copy.metadata, creation_timestamp=at(seconds))
    )


@pytest.mark.parametrize(
    ("placement", "seconds", "stalled"),
    [(COPIES, BEGAN - 600, []), (COPIES, BEGAN, ["member2"]), (SHARES, BEGAN - 600, ["member2"])],
    ids=["it was there before", "it was moved there", "a share, which may have grown"],
)
def test_s12_a_copy_that_was_there_before_the_failover_is_no_replacement(
    placement: Placement, seconds: float, stalled: list[str]
) -> None:
    bound = binding(placement, 3, targets(member2=3), (LOST,))
    copies = {"member2": made("member2", 2, seconds)}
    found = find_stalled(bound, fleet(cluster("member2")), copies, at(BEGAN + 601), GRACE_SECONDS)
    assert [target.cluster for target in found.targets] == stalled


def test_what_is_suspended_is_not_expected_to_be_taken() -> None:
    bound = binding(COPIES, 3, targets(member2=3), (LOST,))
    copy = made("member2", 0, BEGAN)
    copies = {
        "member2": msgspec.structs.replace(copy, spec=msgspec.structs.replace(copy.spec, suspend_dispatching=True))
    }
    assert not find_stalled(bound, fleet(cluster("member2")), copies, at(BEGAN + 601), GRACE_SECONDS).targets


@pytest.mark.parametrize(
    ("seconds", "ready", "returns"),
    [(BEGAN - 600, 2, False), (BEGAN - 600, 0, True), (BEGAN, 2, True)],
    ids=["it serves", "it serves nothing", "it was moved there"],
)
def test_s12_a_copy_that_serves_is_not_dropped_for_one_that_returns(seconds: float, ready: int, returns: bool) -> None:
    bound = aggregated(binding(COPIES, 3, targets(member2=3, member3=3), (LOST,)))
    copies = {
        "member1": work("member1", 3),
        "member2": made("member2", ready, seconds),
        "member3": made("member3", 3, BEGAN),
    }
    alive = fleet(cluster("member1"), cluster("member2"), cluster("member3"))
    withdrawn = find_withdrawal(bound, alive, copies, at(BEGAN + 60), GRACE_SECONDS)
    assert (withdrawn is not None) == returns
