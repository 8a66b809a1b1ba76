"""PersistentVolumeClaimResize: which claims may grow."""

import pytest

from kubeapi.meta import Manifest
from tests.kubeserver.api_world import Answer, ApiWorld, tell

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
UNBOUND = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
FIXED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


def _wanting(storage: str) -> Manifest:
    return {"spec": {"resources": {"requests": {"storage": storage}}}}


async def _claim(world: ApiWorld, storage_class: str, bound: bool) -> None:
    spec = {**_wanting("2Gi")["spec"], "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class}
    await world.create(CLAIMS, {"metadata": {"name": "data"}, "spec": spec})
    if bound:
        await world.patch(f"{CLAIMS}/data/status", {"status": {"phase": "Bound"}})


async def _grown(world: ApiWorld, storage_class: str, bound: bool = True) -> Answer:
    await world.create(CLASSES, {"metadata": {"name": "wide"}, "provisioner": "p", "allowVolumeExpansion": True})
    await world.create(CLASSES, {"metadata": {"name": "narrow"}, "provisioner": "p"})
    await _claim(world, storage_class, bound)
    return await world.patch(f"{CLAIMS}/data", _wanting("3Gi"))


def test_a_claim_grows_where_its_class_lets_it():
    async def story(world: ApiWorld) -> None:
        assert (await _grown(world, "wide")).code == 200

    tell(story)


def test_a_claim_does_not_grow_by_taking_another_class():
    async def story(world: ApiWorld) -> None:
        assert (await _grown(world, "narrow")).code == 403
        annotations = {"volume.beta.kubernetes.io/storage-class": "wide"}
        refused = await world.patch(f"{CLAIMS}/data", {"metadata": {"annotations": annotations}, **_wanting("3Gi")})
        assert refused.body["message"] == f'persistentvolumeclaims "data" is forbidden: {FIXED}'

    tell(story)


def test_a_claim_without_a_volume_stays_as_it_is():
    async def story(world: ApiWorld) -> None:
        refused = await _grown(world, "wide", bound=False)
        assert refused.code == 422
        assert refused.body["message"] == f'PersistentVolumeClaim "data" is invalid: spec: Forbidden: {UNBOUND}'

    tell(story)


@pytest.mark.parametrize("storage_class", ["narrow", "unknown", ""])
def test_other_claims_stay_as_large_as_they_are(storage_class: str):
    async def story(world: ApiWorld) -> None:
        refused = await _grown(world, storage_class)
        assert (refused.code, refused.body["reason"]) == (403, "Forbidden")
        assert refused.body["message"] == f'persistentvolumeclaims "data" is forbidden: {FIXED}'
        assert (await world.patch(f"{CLAIMS}/data", {"metadata": {"labels": {"a": "b"}}})).code == 200

    tell(story)
