"""Release that a binding has, by what there is to run of its template."""

from collections.abc import Callable

import msgspec
import pytest

from leeward.api.names import TEMPLATE_CONTENTS_ANNOTATION
from leeward.api.work import Binding, GracefulEvictionTask
from leeward.core.eviction.application import parse_record, record_patch
from leeward.core.eviction.awaited_targets import awaited_targets_patch, parse_awaited_targets
from leeward.core.eviction.failover_release import failover_release_patch, released_at
from tests.builders import at, binding, duplicated, targets

LOST = GracefulEvictionTask("a", "TaintUntolerated", "TaintManager", "Gracefully", creation_timestamp=at(100))


def bound(version: str, contents: str, remembered: Binding | None = None) -> Binding:
    """Binding with what another state of it remembers."""
    made = binding(duplicated("a", "b", "c", groups=1), 3, targets(b=3))
    kept = dict(remembered.metadata.annotations if remembered is not None else {})
    kept.pop(TEMPLATE_CONTENTS_ANNOTATION, None)
    noted = {TEMPLATE_CONTENTS_ANNOTATION: contents} if contents else {}
    resource = msgspec.structs.replace(made.spec.resource, resource_version=version)
    return msgspec.structs.replace(
        made,
        spec=msgspec.structs.replace(made.spec, resource=resource),
        metadata=msgspec.structs.replace(made.metadata, annotations={**kept, **noted}),
    )


def remembering(first: Binding) -> Binding:
    """A copy has failed in `a`, `b` is awaited, and a failover moves it."""
    patch = {
        **record_patch(first, msgspec.structs.replace(parse_record(first), left=("a",))),
        **awaited_targets_patch(first, {"b": at(100)}),
        **failover_release_patch(first, (LOST,), at(100)),
    }
    texts = {name: text for name, text in patch.items() if text is not None}
    annotations = {**first.metadata.annotations, **texts}
    return msgspec.structs.replace(first, metadata=msgspec.structs.replace(first.metadata, annotations=annotations))


def is_another_by_the_record(later: Binding) -> bool:
    return parse_record(later).left == ()


def is_another_by_awaited_targets(later: Binding) -> bool:
    return parse_awaited_targets(later, at(500)) == {"b": at(500)}


def is_another_by_the_failover(later: Binding) -> bool:
    return released_at(later, at(500)) == at(500)


JUDGES = [is_another_by_the_record, is_another_by_awaited_targets, is_another_by_the_failover]


@pytest.mark.parametrize("is_another", JUDGES)
@pytest.mark.parametrize(
    ("first", "later", "expected"),
    [
        (("1", "c1"), ("2", "c1"), False),
        (("1", "c1"), ("2", "c2"), True),
        (("1", ""), ("1", "c1"), False),
        (("1", ""), ("2", ""), True),
        (("1", ""), ("2", "c1"), True),
    ],
    ids=["metadata", "contents", "brought up to date", "of an earlier version", "of an earlier version, and changed"],
)
def test_another_release_is_one_that_runs_something_else(
    is_another: Callable[[Binding], bool], first: tuple[str, str], later: tuple[str, str], *, expected: bool
) -> None:
    assert is_another(bound(*later, remembered=remembering(bound(*first)))) is expected


@pytest.mark.parametrize("is_another", JUDGES)
def test_scaling_is_no_other_release(is_another: Callable[[Binding], bool]) -> None:
    later = bound("2", "c2", remembered=remembering(bound("1", "c1")))
    scaled = msgspec.structs.replace(later, spec=msgspec.structs.replace(later.spec, replicas=5))
    assert not is_another(scaled)
