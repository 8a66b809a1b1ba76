"""Reasons for which an eviction that is due does not happen, as a person reads it in the condition EvictionHeld."""

from collections.abc import Sequence

import msgspec
import pytest

from kubeapi.core import Taint
from kubeapi.meta import ObjectMeta
from leeward.api.meta import Condition
from leeward.api.names import POLICY_TAINTS_ANNOTATION
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import (
    GracefulEvictionTask,
    Health,
    ManifestStatus,
    ResourceBindingSpec,
    ResourceIdentifier,
    Work,
    WorkStatus,
)
from leeward.core.eviction.blocked_evictions import (
    held_by_guard,
    held_deferred,
    held_for_lost_state,
    held_for_place,
    held_in_place,
    held_tasks,
    held_without_gain,
    is_braked,
)
from leeward.core.eviction.due_evictions import Eviction, is_automatic
from leeward.core.eviction.held_reasons import Deferral, HeldReason
from leeward.core.eviction.progress import Assessment
from leeward.core.eviction.state_preservation import StateNotPreserved
from leeward.core.scheduling import Unplaceable
from tests.builders import at, binding, cluster, dead, divided, duplicated, targets

NOT_READY = Taint("cluster.karmada.io/not-ready", "NoExecute")
UNREACHABLE = Taint("cluster.karmada.io/unreachable", "NoExecute")
BY_POLICY = Taint("example.com/flooded", "NoExecute")
BY_HAND = Taint("example.com/maintenance", "NoExecute", "soon")
M1, M2 = Eviction("m1", (NOT_READY,)), Eviction("m2", (UNREACHABLE, BY_HAND))
LISTED = (
    "m1 (cluster.karmada.io/not-ready:NoExecute), "
    "m2 (cluster.karmada.io/unreachable:NoExecute, example.com/maintenance=soon:NoExecute)"
)
SHARES = binding(divided({"m1": 1, "m2": 2}), 7, targets(m1=3, m2=4)).spec
BOUND = binding(duplicated("m1", "m2"), 3, targets(m1=3, m2=3))
COPIES = BOUND.spec


def said(condition: Condition | None) -> tuple[str, str]:
    """Reason and message of the condition."""
    assert condition is not None
    assert (condition.type, condition.status) == ("leeward.dev/EvictionHeld", "True")
    return condition.reason, condition.message


@pytest.mark.parametrize(
    ("taints", "automatic"),
    [
        ((NOT_READY,), True),
        ((UNREACHABLE,), True),
        ((BY_POLICY,), True),
        ((NOT_READY, BY_POLICY), True),
        ((BY_HAND,), False),
        ((NOT_READY, BY_HAND), False),
        ((BY_POLICY, BY_HAND), False),
    ],
)
@pytest.mark.parametrize("alive", [True, False])
def test_an_eviction_is_automatic_when_no_person_has_asked_for_it_and_the_brake_holds_it_where_nothing_answers(
    taints: tuple[Taint, ...], *, automatic: bool, alive: bool
) -> None:
    metadata = ObjectMeta(name="m1", annotations={POLICY_TAINTS_ANNOTATION: "example.com/flooded:NoExecute"})
    there = cluster("m1") if alive else dead("m1")
    there = type(there)(metadata=metadata, spec=there.spec, status=there.status)
    assert is_automatic(Eviction("m1", taints), there) is automatic
    assert is_braked(Eviction("m1", taints), there) is (automatic and not alive)


@pytest.mark.parametrize(
    ("spec", "staying", "message"),
    [
        (SHARES, {"m1": 2, "m2": 5}, f"7 replicas stay in {LISTED}"),
        (SHARES, {"m1": 2}, "2 replicas stay in m1 (cluster.karmada.io/not-ready:NoExecute)"),
        (SHARES, {"m1": 1}, "1 replica stays in m1 (cluster.karmada.io/not-ready:NoExecute)"),
        (SHARES, {"m1": 2, "m2": 3}, f"5 replicas stay in {LISTED}"),
        (COPIES, {"m1": 7, "m2": 7}, f"not evicted from {LISTED}"),
    ],
    ids=["all of it", "a part in one", "one", "parts in both", "whole copies"],
)
def test_s11_what_finds_no_place_says_how_much_of_it_stays_where(
    spec: ResourceBindingSpec, staying: dict[str, int], message: str
) -> None:
    reason, told = said(held_for_place(spec, (M1, M2), Unplaceable("FitError", "0/3 clusters fit", {}), staying))
    assert (reason, told) == ("NoPlaceToGo", f"{message}, because there is no place to go: 0/3 clusters fit")
    caused = Unplaceable("FitError", "0/3 clusters fit", {}, "All are down.")
    told = said(held_for_place(spec, (M1, M2), caused, staying))[1]
    assert told.startswith(f"All are down. {message[:1].upper()}{message[1:]}, because")


def test_s12_what_gains_nothing_says_so() -> None:
    assert said(held_without_gain((M1, M2))) == (
        "NothingToGain",
        f"not evicted from {LISTED}, because no other cluster would take the copy. An eviction would gain nothing",
    )


def test_s12_what_others_live_in_names_its_kind_and_the_way_to_evict_it_all_the_same() -> None:
    assert said(held_in_place(BOUND, (M1, M2), HeldReason.SHARED_RESOURCE)) == (
        "SharedResource",
        f"not evicted from {LISTED}, because what others keep in a Deployment would be deleted with it; "
        "annotate the policy with leeward.dev/evict-shared-resources=true to evict it nevertheless",
    )


def test_s12_what_would_leave_its_volumes_behind_names_them_and_the_ways_out() -> None:
    metadata = msgspec.structs.replace(BOUND.metadata, annotations={"leeward.dev/claims": "data, logs"})
    bound = msgspec.structs.replace(BOUND, metadata=metadata)
    assert said(held_in_place(bound, (M1, M2), HeldReason.VOLUMES_STAY)) == (
        "VolumesStay",
        f"not evicted from {LISTED}, because the volumes of the claims (data, logs) would stay behind. If the "
        "storage is replicated, annotate the policy with leeward.dev/volumes-follow=true. The application then "
        "moves with its data, but stays if purgeMode is Never. With purgeMode Directly and without the annotation, "
        "the application moves and starts without its data",
    )
    assert held_in_place(bound, (), HeldReason.VOLUMES_STAY) is None


def test_who_waits_for_a_turn_says_each_reason_once() -> None:
    paced = {"m1": Deferral.RATE, "m2": Deferral.RATE, "m3": Deferral.DRAIN_BUDGET}
    assert said(held_deferred((M1, M2), paced, {"m3": 2})) == (
        "WaitingForTurn",
        f"not evicted from {LISTED} yet, because evictions are spaced out by --resource-eviction-rate",
    )
    both = said(held_deferred((M1, M2), {"m1": Deferral.DRAIN_BUDGET, "m2": Deferral.RATE}, {"m1": 2}))
    assert both[1].endswith(
        " yet, because the cluster is drained with a budget, 2 at a time; "
        "evictions are spaced out by --resource-eviction-rate"
    )
    assert held_deferred((), paced, {}) is None


def test_s13_an_outage_that_nobody_has_confirmed_says_why_it_does_not_count() -> None:
    assert said(held_by_guard(HeldReason.NOT_CONFIRMED, (M1, M2))) == (
        "NotConfirmed",
        f"not evicted from {LISTED}, because the cluster answers again, or was not observed since the control "
        "plane watches again",
    )
    assert held_by_guard(HeldReason.NOT_CONFIRMED, ()) is None


def test_a_state_that_would_be_lost_names_the_way_out() -> None:
    assert said(held_for_lost_state((M1, M2), StateNotPreserved("the label job: no status"))) == (
        "StateNotPreserved",
        f"not evicted from {LISTED}, because the label job: no status; "
        "remove the rule from failover.cluster.statePreservation to evict the copy without its state",
    )


def task(name: str, mode: PurgeMode = PurgeMode.GRACEFULLY, *, suppress: bool | None = None) -> GracefulEvictionTask:
    return GracefulEvictionTask(
        name, "TaintUntolerated", "TaintManager", mode.value, suppress_deletion=suppress, creation_timestamp=at(0)
    )


WORKS = {"m1": Work(), "m2": Work()}
PURGED = (task("m1", PurgeMode.DIRECTLY), task("m2", PurgeMode.DIRECTLY), task("m3", PurgeMode.DIRECTLY))
SUPPRESSED = (task("m1", suppress=True), task("m2", suppress=True), task("m3", suppress=False), task("m4"))


@pytest.mark.parametrize(
    ("kept", "overdue", "braked", "reason", "message"),
    [
        (
            PURGED,
            ("m3",),
            (M1, M2),
            "BrakeEngaged",
            f"not evicted from {LISTED}, because too many clusters are down or failing. The brake stops "
            "evictions until the clusters are back, or until `leeward brake release`: see ConfigMap "
            "karmada-system/leeward-brake",
        ),
        (
            (*PURGED, *SUPPRESSED),
            ("m3",),
            (),
            "WaitingForPurge",
            "no new copy is made before the copy in m1, m2 is known to be gone (purgeMode Directly)",
        ),
        (
            SUPPRESSED,
            ("m3", "m4"),
            (),
            "ReplacementMissing",
            "the old copy in m3, m4 stays, because the new copy is not applied in m5",
        ),
        (
            SUPPRESSED,
            (),
            (),
            "DeletionSuppressed",
            "the copy in m1, m2 stays, because suppressDeletion is set",
        ),
    ],
)
def test_of_several_reasons_the_one_that_needs_somebody_is_told(
    kept: tuple[GracefulEvictionTask, ...],
    overdue: tuple[str, ...],
    braked: tuple[Eviction, ...],
    reason: str,
    message: str,
) -> None:
    assert said(held_tasks(Assessment(kept, (), overdue, None), braked, WORKS, ["m5"])) == (reason, message)


def test_where_nothing_is_overdue_nothing_is_held() -> None:
    kept = (task("m1"), task("m3", PurgeMode.DIRECTLY), task("m4", suppress=False))
    assert held_tasks(Assessment(kept, (), (), None), (), WORKS, ["m5"]) is None


@pytest.mark.parametrize(
    ("unknown", "why"),
    [
        (("m1",), "the new copy is not healthy in m5, m6; the new copy is not applied in m7"),
        (
            ("m1", "m6", "m5"),
            "the health of the new copy in m5, m6 is not known. Where a script or a webhook that interprets "
            "its kind fails, an event InterpretHealthFailed of the Work there says so",
        ),
    ],
)
def test_s16_where_nobody_says_whether_a_replacement_is_healthy_that_is_told(unknown: Sequence[str], why: str) -> None:
    works = {name: _reporting("Unknown" if name in unknown else "Unhealthy") for name in ("m1", "m5", "m6")}
    condition = held_tasks(Assessment((task("m4"),), (), ("m4",), None), (), works, ["m6", "m5", "m7"])
    assert said(condition) == ("ReplacementMissing", f"the old copy in m4 stays, because {why}")


def _reporting(health: Health) -> Work:
    identifier = ResourceIdentifier(0, "v1", "CronTab", "", "nightly")
    return Work(status=WorkStatus(manifest_statuses=(ManifestStatus(identifier, health=health),)))
