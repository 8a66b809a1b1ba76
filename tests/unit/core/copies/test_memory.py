"""Memory of a binding: for which release it holds, and what becomes of it with another one."""

from collections.abc import Callable

import msgspec
import pytest

from kubeapi.codec import encode
from leeward.api.names import MEMORY_ANNOTATION, TEMPLATE_CONTENTS_ANNOTATION
from leeward.api.work import Binding
from leeward.core.copies.memory import (
    EARLIER_MEMORY_ANNOTATIONS,
    BindingMemory,
    RememberedCopy,
    memory_patch,
    parse_memory,
)
from tests.builders import at, binding, duplicated, targets

FAILURES, AWAITED, RELEASE = EARLIER_MEMORY_ANNOTATIONS
FULL = BindingMemory().noting({"a": at(50)}, ("a",), {"b": at(100)})


def bound(version: str, contents: str = "", remembered: Binding | None = None, replicas: int = 3) -> Binding:
    """Binding with the memory of another state of it."""
    made = binding(duplicated("a", "b", "c", groups=1), replicas, targets(b=3))
    kept = dict(remembered.metadata.annotations if remembered is not None else {})
    kept.pop(TEMPLATE_CONTENTS_ANNOTATION, None)
    noted = {TEMPLATE_CONTENTS_ANNOTATION: contents} if contents else {}
    resource = msgspec.structs.replace(made.spec.resource, resource_version=version)
    return msgspec.structs.replace(
        made,
        spec=msgspec.structs.replace(made.spec, resource=resource),
        metadata=msgspec.structs.replace(made.metadata, annotations={**kept, **noted}),
    )


def annotated(first: Binding, texts: dict[str, str]) -> Binding:
    annotations = {**first.metadata.annotations, **texts}
    return msgspec.structs.replace(first, metadata=msgspec.structs.replace(first.metadata, annotations=annotations))


def remembering(first: Binding, memory: BindingMemory = FULL, seconds: float = 100) -> Binding:
    """The binding in the middle of a failover, with this memory."""
    present = parse_memory(first, at(seconds)).noting(memory.unhealthy, memory.tried, memory.awaited)
    text = memory_patch(first, present, is_moving=True)[MEMORY_ANNOTATION]
    assert text is not None
    return annotated(first, {MEMORY_ANNOTATION: text})


def is_another_by_the_tried(later: Binding) -> bool:
    return parse_memory(later, at(500)).tried == ()


def is_another_by_awaited_targets(later: Binding) -> bool:
    return parse_memory(later, at(500)).awaited == {"b": at(500)}


def is_another_by_the_failover(later: Binding) -> bool:
    return parse_memory(later, at(500)).released_at == at(500)


JUDGES = [is_another_by_the_tried, is_another_by_awaited_targets, is_another_by_the_failover]


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


def test_a_release_in_the_middle_of_a_failover_counts_from_when_it_came() -> None:
    first = remembering(bound("1"))
    assert parse_memory(first, at(500)).released_at is None
    second = bound("2", remembered=first)
    memory = parse_memory(second, at(650))
    assert memory.released_at == at(650)
    kept = remembering(second, memory, 650)
    assert parse_memory(kept, at(900)) == memory
    assert memory_patch(kept, parse_memory(kept, at(900)), is_moving=True) == {}, "and it is written once"
    assert parse_memory(bound("3", remembered=kept), at(900)).released_at == at(900)


def test_a_release_that_lies_in_the_future_came_now() -> None:
    second = bound("2", remembered=remembering(bound("1")))
    ahead = remembering(second, parse_memory(second, at(5_000)), 5_000)
    assert parse_memory(ahead, at(900)).released_at == at(900)


def test_the_release_of_a_failover_goes_with_its_last_task() -> None:
    moving = remembering(bound("1"), BindingMemory())
    nothing = parse_memory(moving, at(900))
    assert memory_patch(moving, nothing, is_moving=True) == {}
    assert memory_patch(moving, nothing, is_moving=False) == {MEMORY_ANNOTATION: None}
    assert memory_patch(bound("1"), nothing, is_moving=False) == {}
    second = bound("2", remembered=remembering(bound("1")))
    text = memory_patch(second, parse_memory(second, at(650)), is_moving=False)[MEMORY_ANNOTATION]
    assert text is not None
    assert parse_memory(annotated(second, {MEMORY_ANNOTATION: text}), at(700)).released_at is None


def test_a_row_tells_all_of_one_cluster_and_goes_when_nothing_is_left_of_it() -> None:
    memory = FULL.noting(awaited={"a": at(70)})
    assert memory.clusters == {"a": RememberedCopy(at(50), True, at(70))}
    assert (memory.unhealthy, memory.tried, memory.awaited) == ({"a": at(50)}, ("a",), {"a": at(70)})
    assert memory.noting({}, (), {}) == BindingMemory()


def test_c1_another_copy_goes_where_the_release_is_neither_unhealthy_nor_was_tried() -> None:
    memory = BindingMemory().noting({"a": at(50)}, ("b",), {"c": at(70)})
    assert memory.in_vain == {"a", "b"}
    left = memory.after_leaving(("a",), remember=True)
    assert (left.unhealthy, left.tried, left.awaited) == ({}, ("a", "b"), {})
    assert memory.after_leaving(("a",), remember=False).tried == ("b",)
    assert memory.after_leaving(("c",), remember=False).unhealthy == {"a": at(50)}


def test_what_remembers_nothing_has_no_release_that_came_in_the_middle() -> None:
    assert parse_memory(bound("1", replicas=0), at(500)) == BindingMemory("1", 0)


def test_s12_that_a_job_was_over_outlasts_another_release() -> None:
    memory = msgspec.structs.replace(BindingMemory("1", 3), over="uid-1")
    first = bound("1")
    text = memory_patch(first, memory, is_moving=False)[MEMORY_ANNOTATION]
    assert text is not None
    assert parse_memory(bound("2", remembered=annotated(first, {MEMORY_ANNOTATION: text})), at(500)).over == "uid-1"


def test_what_is_awaited_since_this_instant_is_known_and_what_lies_ahead_is_not() -> None:
    known = remembering(bound("1"), BindingMemory().noting(awaited={"b": at(200), "c": at(201)}))
    assert parse_memory(known, at(200)).awaited == {"b": at(200)}


def test_what_is_kept_can_be_read_again() -> None:
    first = bound("7", "c7")
    text = memory_patch(first, FULL, is_moving=False)[MEMORY_ANNOTATION]
    assert text == encode(FULL).decode()
    kept = remembering(first)
    assert parse_memory(kept, at(200)) == msgspec.structs.replace(FULL, release="c7", replicas=3)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"clusters": {"b": 1}}', '{"clusters": {"b": {"awaitedSince": "2025-01-01T00:00:00"}}}'],
)
@pytest.mark.parametrize("name", [MEMORY_ANNOTATION, AWAITED])
def test_what_nobody_can_read_says_nothing(name: str, text: str) -> None:
    spoiled = annotated(bound("7"), {name: text})
    assert parse_memory(spoiled, at(100)) == BindingMemory("7", 3)


EARLIER = {
    FAILURES: '{"release":"7","replicas":3,"since":{"a":"2026-01-01T00:00:50Z"},"left":["a"]}',
    AWAITED: '{"release":"7","replicas":3,"since":{"b":"2026-01-01T00:01:40Z"}}',
    RELEASE: '{"release":"7","replicas":3,"since":"2026-01-01T00:01:00Z"}',
}


def test_the_annotations_of_earlier_versions_are_read_and_go_with_the_first_write() -> None:
    upgraded = annotated(bound("7"), EARLIER)
    expected = msgspec.structs.replace(FULL, release="7", replicas=3, released_at=at(60))
    memory = parse_memory(upgraded, at(200))
    assert memory == expected
    patch = memory_patch(upgraded, memory, is_moving=True)
    assert patch == {MEMORY_ANNOTATION: encode(expected).decode(), **dict.fromkeys(EARLIER)}
    both = annotated(upgraded, {MEMORY_ANNOTATION: "{}"})
    assert parse_memory(both, at(200)).clusters == {}, "they are read only where there is no other"


def test_the_annotations_of_what_has_no_replicas_are_read_too() -> None:
    """Earlier versions left out the number 0, as of a DaemonSet or a custom resource."""
    texts = {name: text.replace('"replicas":3,', "") for name, text in EARLIER.items()}
    memory = parse_memory(annotated(bound("7", replicas=0), texts), at(200))
    assert (memory.tried, memory.unhealthy, memory.awaited) == (("a",), {"a": at(50)}, {"b": at(100)})


@pytest.mark.parametrize("name", EARLIER_MEMORY_ANNOTATIONS)
def test_each_of_the_earlier_annotations_is_read_alone(name: str) -> None:
    alone = {name: EARLIER[name]}
    memory = parse_memory(annotated(bound("7"), alone), at(200))
    assert (memory.tried, memory.awaited, memory.released_at) == {
        FAILURES: (("a",), {}, None),
        AWAITED: ((), {"b": at(100)}, None),
        RELEASE: ((), {}, at(60)),
    }[name]
    assert parse_memory(annotated(bound("8"), alone), at(200)).released_at == at(200), "another release"


@pytest.mark.parametrize(
    ("text", "release", "replicas", "tried"),
    [
        (None, "7", 2, ()),
        ('{"release":"7","replicas":2,"clusters":{"a":{"tried":true}}}', "7", 2, ("a",)),
        ('{"release":"7","replicas":1,"clusters":{"a":{"tried":true}}}', "7", 2, ("a",)),
        ('{"release":"6","replicas":1,"clusters":{"a":{"tried":true}}}', "7", 2, ("a",)),
        ('{"release":"6","replicas":2,"clusters":{"a":{"tried":true}}}', "7", 2, ()),
    ],
    ids=["nothing", "as it was", "scaled", "scaled, which is no release", "a new release"],
)
def test_a_memory_is_that_of_the_present_release(
    text: str | None, release: str, replicas: int, tried: tuple[str, ...]
) -> None:
    known = annotated(bound(release, replicas=replicas), {} if text is None else {MEMORY_ANNOTATION: text})
    memory = parse_memory(known, at(100))
    assert (memory.release, memory.replicas, memory.tried) == (release, replicas, tried)
