"""Cache of an informer: what nobody has read lately is kept as bytes, and is what it was."""

from typing import Any, TypeVar

from kubeapi.meta import Manifest, ObjectMeta
from leeward.api.core import ConfigMap
from leeward.api.work import Work
from leeward.runtime.identity import Key, key_of
from leeward.runtime.informer_cache import RECENT, InformerCache, without_owned_fields

T = TypeVar("T")

MANY = 3 * RECENT


def manifest(number: int) -> Manifest:
    metadata = {"name": f"app-{number}", "namespace": "shop", "resourceVersion": str(number + 1)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"number": number, "none": None}}


def filled(object_type: type[T], objects: list[T]) -> InformerCache[T]:
    cache = InformerCache(object_type)
    for obj in objects:
        cache.put(key_of(obj), obj)
    return cache


def packed(cache: InformerCache[Any]) -> int:
    return sum(entry.obj is None for entry in cache.entries().values())


def test_what_was_not_read_lately_is_packed_and_reads_as_it_was() -> None:
    cache = filled(dict, [manifest(number) for number in range(MANY)])
    assert packed(cache) == MANY - RECENT
    assert [cache.get(Key("shop", f"app-{number}")) for number in range(MANY)] == [manifest(n) for n in range(MANY)]
    assert packed(cache) == MANY - RECENT


def test_a_work_is_not_packed() -> None:
    """All are looked at again and again: by surveys, and when a cluster changes."""
    works = [Work(metadata=ObjectMeta(name=f"app-{n}", namespace="shop")) for n in range(MANY)]
    assert packed(filled(Work, works)) == 0


def test_what_was_read_last_is_packed_last() -> None:
    cache = filled(dict, [manifest(number) for number in range(RECENT)])
    first = cache.get(Key("shop", "app-0"))
    cache.put(Key("shop", "new"), manifest(RECENT))
    entries = cache.entries()
    assert entries[Key("shop", "app-0")].obj is first
    assert entries[Key("shop", "app-1")].obj is None


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
