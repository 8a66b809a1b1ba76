"""Cache of an informer: what nobody has read lately is kept as bytes, and is what it was."""

from typing import Any, TypeVar

from controller_runtime.identity import Key, kept, key_of
from controller_runtime.informer_cache import InformerCache, without_owned_fields
from controller_runtime.packing import MOST_COMPRESSED, CachedObject, Packing, RecentObjects, SimilarBodies
from kubeapi import codec
from kubeapi.core import ConfigMap
from kubeapi.meta import Manifest, ObjectMeta
from leeward.api.work import Work, WorkloadTemplate, WorkSpec
from leeward.runtime.controller_context import PACKING

T = TypeVar("T")

RECENT = 20
MANY = 3 * RECENT
PACKINGS = {Work: PACKING}


def manifest(number: int) -> Manifest:
    metadata = {"name": f"app-{number}", "namespace": "shop", "resourceVersion": str(number + 1)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"number": number, "none": None}}


def work(number: int) -> Work:
    metadata = ObjectMeta(name=f"app-{number}", namespace="karmada-es-member1", resource_version=str(number + 1))
    spec = WorkSpec(WorkloadTemplate((manifest(number),)), suspend_dispatching=True)
    return Work(metadata=metadata, spec=spec)


def filled(object_type: type[T], objects: list[T], recent: RecentObjects | None = None) -> InformerCache[T]:
    cache = InformerCache(object_type, recent or RecentObjects(RECENT, PACKINGS))
    for obj in objects:
        cache.put(key_of(obj), obj)
    return cache


def packed(cache: InformerCache[Any]) -> int:
    return sum(entry.is_packed for entry in cache.entries().values())


def test_what_was_not_read_lately_is_packed_and_reads_as_it_was() -> None:
    cache = filled(dict, [manifest(number) for number in range(MANY)])
    assert packed(cache) == MANY - RECENT
    assert [cache.get(Key("shop", f"app-{number}")) for number in range(MANY)] == [manifest(n) for n in range(MANY)]
    assert packed(cache) == MANY - RECENT


def test_of_a_work_the_manifests_are_packed() -> None:
    works = [work(number) for number in range(MANY)]
    cache = filled(Work, works)
    assert packed(cache) == MANY - RECENT
    assert list(cache.list()) == works
    assert [cache.get(key_of(each)) for each in works] == works
    assert packed(cache) == MANY - RECENT
    assert cache.pop(key_of(works[0])) == works[0]


def test_an_outline_is_a_work_without_what_is_packed_unless_that_is_needed() -> None:
    works = [work(number) for number in range(MANY)]
    cache = filled(Work, works)
    outlines = list(cache.list_outlines(lambda each: each.name == "app-1"))
    assert outlines[0] == works[0].without_manifests() != works[0]
    assert outlines[1] == works[1]
    assert outlines[-1] == works[-1]
    assert packed(cache) == MANY - RECENT
    manifests = [manifest(number) for number in range(MANY)]
    assert list(filled(dict, manifests).list_outlines(lambda _: False)) == manifests


def test_what_is_not_packed_is_counted_over_all_kinds_and_servers() -> None:
    recent = RecentObjects(RECENT, PACKINGS)
    caches = [filled(dict, [manifest(number) for number in range(RECENT)], recent) for _ in range(3)]
    works = filled(Work, [work(number) for number in range(RECENT // 2)], recent)
    assert [packed(cache) for cache in (*caches, works)] == [RECENT, RECENT, RECENT // 2, 0]


def test_a_state_that_is_over_takes_no_place_among_those_read_last() -> None:
    cache = filled(dict, [manifest(number) for number in range(RECENT)])
    for _ in range(MANY):
        cache.put(Key("shop", "app-0"), manifest(0))
    cache.pop(Key("shop", "app-1"))
    cache.put(Key("shop", "app-1"), manifest(1))
    assert packed(cache) == 0


def test_what_was_read_last_is_packed_last() -> None:
    cache = filled(dict, [manifest(number) for number in range(RECENT)])
    first = cache.get(Key("shop", "app-0"))
    cache.put(Key("shop", "new"), manifest(RECENT))
    entries = cache.entries()
    assert entries[Key("shop", "app-0")].read() is first
    assert entries[Key("shop", "app-1")].is_packed


def test_to_list_all_unpacks_none_for_good() -> None:
    cache = filled(dict, [manifest(number) for number in range(MANY)])
    assert [each["data"]["number"] for each in cache.list()] == list(range(MANY))
    assert cache.all_keys() == tuple(Key("shop", f"app-{number}") for number in range(MANY))
    assert packed(cache) == MANY - RECENT


def test_what_is_listed_is_of_one_moment() -> None:
    cache = filled(dict, [manifest(number) for number in range(MANY)])
    listed = cache.list()
    for number in range(MANY):
        assert cache.pop(Key("shop", f"app-{number}")) == manifest(number)
    assert len(list(listed)) == MANY
    assert not list(cache.list())


def test_another_state_is_another_entry() -> None:
    cache = filled(dict, [manifest(number) for number in range(MANY)])
    before, key = cache.entries(), Key("shop", "app-0")
    cache.get(key)
    assert cache.entry(key) is before[key]
    cache.put(key, manifest(0))
    assert cache.entry(key) is not before[key]


def test_small_kinds_are_never_packed() -> None:
    objects = [ConfigMap(metadata=ObjectMeta(name=f"c-{n}", namespace="shop")) for n in range(MANY)]
    assert packed(filled(ConfigMap, objects)) == 0


def test_managers_are_kept_without_the_fields_that_they_own() -> None:
    found = manifest(1)
    managers: list[Any] = [
        {"manager": "kubectl", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {}}},
        "nonsense",
    ]
    found["metadata"]["managedFields"] = managers
    slim = without_owned_fields(found)
    assert slim["metadata"]["managedFields"] == [{"manager": "kubectl", "time": "2026-01-01T00:00:00Z"}, {}]
    assert found["metadata"]["managedFields"] == managers
    assert without_owned_fields(manifest(1)) == manifest(1)


def test_objects_that_are_alike_take_little_room_once_they_are_packed() -> None:
    bodies = SimilarBodies()
    alike = [{**manifest(number), "data": {f"setting-{n}": "x" * n for n in range(100)}} for number in range(MANY)]
    texts = [codec.encode(each) for each in alike]
    compressed = [bodies.compressed(text) for text in texts]
    assert sum(map(len, compressed)) < sum(map(len, texts)) / 20
    assert [bodies.restored(each) for each in compressed] == texts


def test_a_body_that_is_long_is_kept_as_it_is() -> None:
    bodies, long = SimilarBodies(), b"x" * (MOST_COMPRESSED + 1)
    assert bodies.restored(bodies.compressed(b"{}")) == b"{}"
    assert len(bodies.compressed(long)) > MOST_COMPRESSED, "to compress it would keep others waiting"
    assert bodies.restored(bodies.compressed(long)) == long


def test_places_that_keep_a_key_share_it() -> None:
    assert kept(Key("shop", "".join(["we", "b"]))) is kept(Key("shop", "".join(["w", "eb"])))


def test_an_object_that_is_nested_too_deeply_to_be_packed_costs_no_other_one() -> None:
    """The stack of whoever packs it, who wants another object, decides how deeply JSON may be nested."""

    def encode(_: Manifest) -> bytes:
        raise RecursionError

    deep = CachedObject(manifest(1), Packing(encode, lambda _: None, lambda body, _: {}))
    recent = RecentObjects(1, PACKINGS)
    for entry in (deep, CachedObject(manifest(2), None)):
        recent.touch(entry)
    assert deep.read() == manifest(1)
