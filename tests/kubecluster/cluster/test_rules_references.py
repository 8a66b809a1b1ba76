"""References of a Pod, and what is wrong when that is not there."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubecluster.rules.references import Lookup, MountFault, Source, environment_faults, mount_fault, sources_of
from tests.kubecluster.cluster.manifests import pod


def finding(**objects: Manifest) -> Lookup:
    """Objects by `configmap_NAME` and `secret_NAME`."""
    return lambda source, name: objects.get(f"{source.value}_{name}")


NOTHING = finding()


def with_volume(**volume: Any) -> Manifest:
    return pod(spec={"containers": [{"name": "main"}], "volumes": [{"name": "data", **volume}]})


def with_environment(**fields: Any) -> Manifest:
    return pod(spec={"containers": [{"name": "main", **fields}, {"name": "other"}]})


def test_a_pod_that_names_nothing_has_nothing_looked_up() -> None:
    plain = pod(
        spec={"containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}], "volumes": [{"name": "v"}]}
    )
    assert sources_of(plain) == frozenset()
    assert mount_fault(plain, NOTHING) is None
    assert environment_faults(plain, NOTHING) == {}


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "conf"}}, 'configmap "conf" not found'),
        ({"secret": {"secretName": "key"}}, 'secret "key" not found'),
        ({"projected": {"sources": [{"configMap": {"name": "conf"}}]}}, 'configmap "conf" not found'),
        (
            {"projected": {"sources": [{"downwardAPI": {"items": ["x"]}}, {"secret": {"name": "key"}}]}},
            'secret "key" not found',
        ),
    ],
)
def test_a_volume_is_not_mounted_without_its_source(volume: Manifest, message: str) -> None:
    assert mount_fault(with_volume(**volume), NOTHING) == MountFault(
        "data", f'MountVolume.SetUp failed for volume "data" : {message}'
    )
    there = finding(configmap_conf={"data": {}}, secret_key={})
    assert mount_fault(with_volume(**volume), there) is None


def test_a_volume_needs_the_keys_that_it_picks_unless_it_is_optional() -> None:
    picked = {"name": "conf", "items": [{"key": "b", "path": "b"}]}
    there = finding(configmap_conf={"data": {"a": "1"}})
    fault = MountFault("data", 'MountVolume.SetUp failed for volume "data" : references non-existent config key: b')
    assert mount_fault(with_volume(configMap=picked), there) == fault
    assert mount_fault(with_volume(configMap=picked), finding(configmap_conf={"binaryData": {"b": ""}})) is None
    assert mount_fault(with_volume(configMap={**picked, "optional": True}), there) is None
    assert mount_fault(with_volume(secret={"secretName": "key", "optional": True}), NOTHING) is None


@pytest.mark.parametrize(
    ("fields", "missing", "lacking"),
    [
        (
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "conf", "key": "a"}}}]},
            'configmap "conf" not found',
            "couldn't find key a in ConfigMap default/conf",
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "key", "key": "a"}}}]},
            'secret "key" not found',
            "couldn't find key a in Secret default/key",
        ),
        ({"envFrom": [{"configMapRef": {"name": "conf"}}]}, 'configmap "conf" not found', ""),
        ({"envFrom": [{"secretRef": {"name": "key"}}]}, 'secret "key" not found', ""),
    ],
)
def test_a_container_is_not_created_without_its_variables(fields: Manifest, missing: str, lacking: str) -> None:
    assert environment_faults(with_environment(**fields), NOTHING) == {"main": missing}
    empty = finding(configmap_conf={}, secret_key={})
    assert environment_faults(with_environment(**fields), empty) == ({"main": lacking} if lacking else {})
    full = finding(configmap_conf={"data": {"a": ""}}, secret_key={"data": {"a": ""}})
    assert environment_faults(with_environment(**fields), full) == {}


def test_what_is_optional_keeps_no_container() -> None:
    reference = {"name": "conf", "key": "a", "optional": True}
    container = {
        "env": [{"name": "A", "valueFrom": {"configMapKeyRef": reference}}],
        "envFrom": [{"secretRef": {"name": "key", "optional": True}}],
    }
    assert environment_faults(with_environment(**container), NOTHING) == {}
    assert sources_of(with_environment(**container)) == {Source.CONFIG_MAP, Source.SECRET}


def test_secrets_for_pulling_images_are_not_looked_up() -> None:
    assert sources_of(pod(spec={"containers": [], "imagePullSecrets": [{"name": "registry"}]})) == frozenset()
