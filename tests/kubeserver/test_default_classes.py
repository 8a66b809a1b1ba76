"""The classes of claims and Ingresses that name none."""

import asyncio
from typing import Any

import pytest

from tests.kubeserver.api_world import ApiWorld, tell

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
INGRESS_CLASSES = "/apis/networking.k8s.io/v1/ingressclasses"


def _storage_class(name: str, mark: str = "storageclass.kubernetes.io/is-default-class") -> dict[str, Any]:
    return {"metadata": {"name": name, "annotations": {mark: "true"}}, "provisioner": "example.com/disks"}


def _ingress_class(name: str) -> dict[str, Any]:
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": {"controller": "example.com/ingress"}}


def _claim(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"storage": "1Gi"}}
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec}
    return {"metadata": {"generateName": "data-", "annotations": annotations or {}}, "spec": wanted}


def _ingress(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    return {
        "metadata": {"generateName": "web-", "annotations": annotations or {}},
        "spec": {"defaultBackend": backend, **spec},
    }


def test_a_claim_gets_the_default_storage_class():
    async def story(world: ApiWorld) -> None:
        before = await world.create(CLAIMS, _claim())
        assert "storageClassName" not in before.body["spec"]
        await world.create(STORAGE_CLASSES, _storage_class("disks"))
        assert (await world.create(CLAIMS, _claim())).body["spec"]["storageClassName"] == "disks"
        updated = await world.patch(f"{CLAIMS}/{before.name}", {"metadata": {"labels": {"a": "b"}}})
        assert "storageClassName" not in updated.body["spec"]

    tell(story)


def test_an_ingress_gets_the_default_ingress_class():
    async def story(world: ApiWorld) -> None:
        await world.create(INGRESS_CLASSES, _ingress_class("edge"))
        assert (await world.create(INGRESSES, _ingress())).body["spec"]["ingressClassName"] == "edge"

    tell(story)


NAMED: list[tuple[str, dict[str, Any], str, str | None]] = [
    (CLAIMS, _claim(storageClassName=""), "storageClassName", ""),
    (CLAIMS, _claim(storageClassName="tapes"), "storageClassName", "tapes"),
    (CLAIMS, _claim({"volume.beta.kubernetes.io/storage-class": "tapes"}), "storageClassName", None),
    (INGRESSES, _ingress(ingressClassName="inner"), "ingressClassName", "inner"),
    (INGRESSES, _ingress({"kubernetes.io/ingress.class": "inner"}), "ingressClassName", None),
]


@pytest.mark.parametrize(("path", "body", "field", "kept"), NAMED)
def test_who_names_a_class_keeps_it_even_if_it_is_none(path: str, body: dict[str, Any], field: str, kept: str | None):
    async def story(world: ApiWorld) -> None:
        await world.create(STORAGE_CLASSES, _storage_class("disks", "storageclass.beta.kubernetes.io/is-default-class"))
        await world.create(INGRESS_CLASSES, _ingress_class("edge"))
        made = await world.create(path, body)
        assert made.code == 201
        assert made.body["spec"].get(field) == kept

    tell(story)


def test_of_several_defaults_the_youngest_counts_and_then_the_first_by_name():
    async def story(world: ApiWorld) -> None:
        await world.create(STORAGE_CLASSES, _storage_class("a-old"))
        await asyncio.sleep(5)
        await world.create(STORAGE_CLASSES, _storage_class("z-new"))
        await world.create(STORAGE_CLASSES, _storage_class("m-new"))
        assert (await world.create(CLAIMS, _claim())).body["spec"]["storageClassName"] == "m-new"

    tell(story)
