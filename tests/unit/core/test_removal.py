"""What is told of removals that do not come to an end."""

import msgspec

from leeward.api.meta import Manifest, ObjectMeta
from leeward.api.work import Work, WorkStatus
from leeward.core.execution.removal import removal_blocked, removals_blocked
from tests.builders import at


def kept(kind: str, name: str, *finalizers: str, namespace: str = "default", deleted: bool = True) -> Manifest:
    metadata: Manifest = {"name": name, "namespace": namespace, "finalizers": list(finalizers)}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"kind": kind, "metadata": metadata}


def test_the_objects_and_the_finalizers_that_keep_them_are_named() -> None:
    blocked = removal_blocked(
        [kept("Deployment", "web", "a.com/x", "b.com/y"), kept("Namespace", "n", "c", namespace="")]
    )
    assert blocked is not None
    assert (
        blocked.message == "Deployment default/web has the finalizers a.com/x, b.com/y; Namespace n has the finalizer c"
    )


def test_what_only_takes_its_time_or_is_not_being_deleted_blocks_nothing() -> None:
    assert removal_blocked([kept("Deployment", "web"), kept("Deployment", "api", "a.com/x", deleted=False)]) is None
    assert removal_blocked([]) is None


def test_a_binding_tells_of_works_that_are_being_deleted_and_of_no_others() -> None:
    blocked = removal_blocked([kept("Deployment", "web", "a.com/x")])
    assert blocked is not None
    work = Work(metadata=ObjectMeta(name="web"), status=WorkStatus(conditions=(blocked,)))
    assert removals_blocked({"member1": work}) is None
    leaving = msgspec.structs.replace(work, metadata=msgspec.structs.replace(work.metadata, deletion_timestamp=at(0)))
    told = removals_blocked({"member2": leaving, "member1": leaving, "member3": work})
    assert told is not None
    assert told.message == (
        "Still runs in member1: Deployment default/web has the finalizer a.com/x. "
        "Still runs in member2: Deployment default/web has the finalizer a.com/x."
    )
