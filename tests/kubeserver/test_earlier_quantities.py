"""Quantities that an earlier version stored in the words of their writer: what has them can still be written whole."""

from collections.abc import Callable

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeserver.registry.objects import restamped
from kubeserver.store.memory import MemoryMedium
from tests.kubeserver.api_world import PODS, api_world, pod

STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def claim(name: str, amount: str) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": amount}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def stateful_set(name: str, amount: str) -> Manifest:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "image:1"}]}}
    spec = {
        "serviceName": name,
        "selector": {"matchLabels": labels},
        "template": template,
        "volumeClaimTemplates": [claim("data", amount)],
    }
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}


def pod_with_volume(name: str, amount: str) -> Manifest:
    return pod(name, volumes=[{"name": "cache", "emptyDir": {"sizeLimit": amount}}])


@pytest.mark.parametrize(
    ("path", "key", "written", "immutable"),
    [
        (CLAIMS, "//persistentvolumeclaims/default/a", claim, "immutable"),
        (STATEFUL_SETS, "/apps/statefulsets/default/a", stateful_set, "updates to statefulset spec"),
        (PODS, "//pods/default/a", pod_with_volume, "pod updates may not change"),
    ],
    ids=["PersistentVolumeClaim", "StatefulSet", "Pod"],
)
def test_what_was_stored_with_an_amount_in_other_words_is_updated(
    path: str, key: str, written: Callable[[str, str], Manifest], immutable: str
) -> None:
    async def play() -> None:
        medium = MemoryMedium()
        async with api_world(medium) as world:
            assert (await world.create(path, written("a", "1024Mi"))).code == 201
            record = world.store.head(key)
            assert record is not None
            value = record.value.replace(b'"1Gi"', b'"1024Mi"')
            assert value != record.value
            await world.store.put(key, record, lambda revision: restamped(value, revision))
        async with api_world(medium) as world:
            found = (await world.get(f"{path}/a")).body
            found["metadata"]["labels"] = {"a": "b"}
            assert (await world.update(f"{path}/a", found)).code == 200
            stored = world.store.head(key)
            assert stored is not None
            assert b"1024Mi" not in stored.value
            refused = await world.update(f"{path}/a", written("a", "900Mi"))
            assert refused.code == 422
            assert immutable in refused.body["message"]

    run_virtual(play())
