"""Dependencies for which a new copy waits."""

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.meta import Condition
from leeward.api.names import depended_by_label
from leeward.api.policy import Placement
from leeward.api.work import BindingSnapshot, ResourceBinding, TargetCluster, Work, WorkSpec, WorkStatus
from leeward.core.dependencies.attached import listed_in
from leeward.core.dependencies.requirements import is_in_place
from tests.builders import NOW, binding, targets

WEB = ("default", "web")


def attached(*clusters: str, placed: tuple[str, ...] = (), deleted: bool = False) -> ResourceBinding:
    made = binding(Placement(), 0, clusters=targets(**dict.fromkeys(placed, 0)))
    snapshot = BindingSnapshot(name="web", namespace="default", clusters=tuple(map(TargetCluster, clusters)))
    other = BindingSnapshot(name="api", namespace="default", clusters=(TargetCluster("b"),))
    labels = {depended_by_label("default", name): "id" for name in ("web", "api")}
    deleted_at = NOW if deleted else None
    metadata = ObjectMeta(name="a", namespace="default", labels=labels, deletion_timestamp=deleted_at)
    spec = msgspec.structs.replace(made.spec, required_by=(snapshot, other))
    return msgspec.structs.replace(made, metadata=metadata, spec=spec)


def needed(of: ResourceBinding | None) -> frozenset[str]:
    return listed_in(of).get(WEB, frozenset()) if of is not None else frozenset()


def written(applied: str | None = "True", suspended: bool | None = None, deleted: bool = False) -> Work:
    conditions = () if applied is None else (Condition("Applied", applied, "Test"),)
    return Work(
        metadata=ObjectMeta(name="w", deletion_timestamp=NOW if deleted else None),
        spec=WorkSpec(suspend_dispatching=suspended),
        status=WorkStatus(conditions=conditions),
    )


@pytest.mark.parametrize(
    ("of", "work", "there"),
    [
        (attached("a"), written(), True),
        (attached("a"), written("False"), True),
        (attached("a"), written(None), False),
        (attached("a"), written(None, suspended=True), True),
        (attached("a"), written(deleted=True), False),
        (attached("a"), None, False),
        (attached("c"), written(), False),
        (attached(placed=("a",)), written(), True),
        (attached("a", deleted=True), None, True),
        (None, None, False),
    ],
)
def test_an_object_is_in_place_when_its_member_has_answered(
    of: ResourceBinding | None, work: Work | None, there: bool
) -> None:
    assert is_in_place(of, work, "a", needed(of)) is there


def test_what_somebody_else_needs_there_is_not_in_place_for_this_one() -> None:
    """The object may go as soon as that one has no need of it."""
    of = attached("a")
    assert not is_in_place(of, written(), "b", needed(of))
