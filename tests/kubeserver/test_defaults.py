"""Defaults that the server gives where an object says nothing, in the kinds with few defaults."""

from typing import Any, cast

import pytest

from kubeapi.meta import Manifest
from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.kinds.kind import Kind
from kubeserver.registry.objects import encode_stored
from tests.kubeserver.api_world import ApiWorld, deployment, tell

_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
_HEADLESS = {"clusterIP": "None"}

_CASES: list[tuple[str, Manifest, Manifest]] = [
    (
        "NetworkPolicy",
        {"spec": {"egress": [{"ports": [{"port": 53}]}]}},
        {"egress": [{"ports": [{"protocol": "TCP"}]}]},
    ),
    ("HorizontalPodAutoscaler", {"spec": {"behavior": {}}}, {"behavior": {"scaleUp": _UP, "scaleDown": _DOWN}}),
    (
        "HorizontalPodAutoscaler",
        {"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}}},
        {"behavior": {"scaleDown": {**_DOWN, "stabilizationWindowSeconds": 60}}},
    ),
    ("PersistentVolume", {"spec": {"hostPath": {"path": "/x"}}}, {"hostPath": {"path": "/x", "type": ""}}),
    ("PersistentVolume", {"spec": {"iscsi": {"lun": 1}}}, {"iscsi": {"iscsiInterface": "default"}}),
    ("StatefulSet", {"spec": {}}, {"serviceName": "", "updateStrategy": {"rollingUpdate": {"partition": 0}}}),
    (
        "StatefulSet",
        {"spec": {"ordinals": {}, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}},
        {
            "ordinals": {"start": 0},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
        },
    ),
    ("Job", {"spec": {"backoffLimitPerIndex": 1}}, {"backoffLimit": 2147483647, "manualSelector": False}),
    (
        "Job",
        {"spec": {"podFailurePolicy": {"rules": [{"onPodConditions": [{"type": "DisruptionTarget"}]}]}}},
        {
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {"rules": [{"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]},
        },
    ),
    (
        "CronJob",
        {"spec": {"jobTemplate": {"spec": {"podFailurePolicy": {"rules": [{"onPodConditions": [{"type": "A"}]}]}}}}},
        {"jobTemplate": {"spec": {"podFailurePolicy": {"rules": [{"onPodConditions": [{"status": "True"}]}]}}}},
    ),
    ("IngressClass", {"spec": {"parameters": {"kind": "A", "name": "a"}}}, {"parameters": {"scope": "Cluster"}}),
    (
        "Pod",
        {"spec": {"containers": [{"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"key": "A"}}}]}]}},
        {"containers": [{"env": [{"valueFrom": {"fileKeyRef": {"optional": False}}}]}]},
    ),
    (
        "ResourceClaim",
        {"spec": {"devices": {"requests": [{"exactly": {"tolerations": [{"key": "a"}]}}]}}},
        {"devices": {"requests": [{"exactly": {"count": 1, "tolerations": [{"operator": "Equal"}]}}]}},
    ),
    (
        "StatefulSet",
        {"spec": {"updateStrategy": {"type": "RollingUpdate"}}},
        {"updateStrategy": {"rollingUpdate": None}},
    ),
    ("Service", {"spec": {**_HEADLESS}}, {"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv4", "IPv6"]}),
    (
        "Service",
        {"spec": {**_HEADLESS, "selector": {"a": "b"}}},
        {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]},
    ),
    ("Service", {"spec": {"ports": [{"port": 80, "targetPort": 0}]}}, {"ports": [{"targetPort": 80}]}),
    (
        "Pod",
        {"spec": {"containers": [{"livenessProbe": {"grpc": {"port": 1}}}]}},
        {"containers": [{"livenessProbe": {"grpc": {"service": ""}}}]},
    ),
    (
        "Pod",
        {"spec": {"containers": [{"lifecycle": {"preStop": {"httpGet": {"port": 1}}}}]}},
        {"containers": [{"lifecycle": {"preStop": {"httpGet": {"path": "/", "scheme": "HTTP"}}}}]},
    ),
    (
        "Pod",
        {"spec": {"ephemeralContainers": [{"name": "a", "image": "i"}]}},
        {"ephemeralContainers": [{"imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]},
    ),
    (
        "Pod",
        {"spec": {"volumes": [{"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}},
        {"volumes": [{"projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3600}}]}}]},
    ),
    (
        "Pod",
        {"spec": {"volumes": [{"downwardAPI": {"items": [{"fieldRef": {"fieldPath": "metadata.name"}}]}}]}},
        {"volumes": [{"downwardAPI": {"defaultMode": 420, "items": [{"fieldRef": {"apiVersion": "v1"}}]}}]},
    ),
]


@pytest.mark.parametrize(("kind", "given", "expected"), _CASES)
def test_a_spec_is_completed(kind: str, given: Manifest, expected: Manifest) -> None:
    """Defaults as kube-apiserver 1.36.2 answers them."""
    assert _holds(_completed(kind, given)["spec"], expected)


def test_a_stateful_set_gets_no_bound_of_its_rolling_update():
    """Kubernetes switched `MaxUnavailableStatefulSet` off by default in 1.35.4 and 1.36."""
    strategy = _completed("StatefulSet", {"spec": {}})["spec"]["updateStrategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("Endpoints", {"subsets": [{"ports": [{"port": 1}]}]}, {"subsets": [{"ports": [{"protocol": "TCP"}]}]}),
        ("EndpointSlice", {"ports": [{"port": 1}]}, {"ports": [{"name": "", "protocol": "TCP"}]}),
        (
            "Pod",
            {"spec": {"schedulingGates": [{"name": "a/b"}]}},
            {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}},
        ),
        ("Node", {"status": {"capacity": {"cpu": "1"}}}, {"status": {"allocatable": {"cpu": "1"}}}),
        ("PersistentVolume", {}, {"status": {"phase": "Pending", "lastPhaseTransitionTime": "2026-01-01T00:00:00Z"}}),
    ],
)
def test_what_has_no_spec_or_more_is_completed_too(kind: str, given: Manifest, expected: Manifest) -> None:
    assert _holds(_completed(kind, given), expected)


_TOLERATING = {"requests": [{"name": "a", "exactly": {"deviceClassName": "a", "tolerations": [{"key": "a"}]}}]}
_ONCE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "image:1"}]}}
_PARAMETERS = {"kind": "A", "name": "a", "scope": "Namespace", "namespace": "default"}


def _without(defaulted: str, value: Any) -> Any:
    """The value without any field of that name, as it was stored before there was a default."""
    if isinstance(value, dict):
        fields = cast(Manifest, value).items()
        return {key: _without(defaulted, each) for key, each in fields if key != defaulted}
    return [_without(defaulted, each) for each in cast(list[Any], value)] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("name", "spec", "defaulted"),
    [
        ("StatefulSet", deployment("a")["spec"], "serviceName"),
        (
            "Job",
            {
                "template": _ONCE,
                "podFailurePolicy": {"rules": [{"action": "Count", "onPodConditions": [{"type": "DisruptionTarget"}]}]},
            },
            "status",
        ),
        ("ResourceClaim", {"devices": _TOLERATING}, "operator"),
        ("ResourceClaimTemplate", {"spec": {"devices": _TOLERATING}}, "operator"),
        ("IngressClass", {"controller": "a/b", "parameters": _PARAMETERS}, "scope"),
    ],
)
def test_an_object_stored_before_a_default_can_be_changed_and_let_go(name: str, spec: Manifest, defaulted: str) -> None:
    kind = _kind(name)
    namespace = "default" if kind.namespaced else ""
    objects = f"/apis/{kind.api_version}{'/namespaces/default' if namespace else ''}/{kind.plural}"
    path, key = f"{objects}/a", kind.key(namespace, "a")

    async def story(world: ApiWorld) -> None:
        async def stored_before() -> Manifest:
            stored = (await world.get(path)).body
            before = {**stored, "spec": _without(defaulted, stored["spec"])}
            assert before != stored
            await world.store.put(key, world.store.head(key), lambda revision: encode_stored(kind, before, revision))
            return (await world.get(path)).body

        metadata = {"name": "a", "finalizers": ["example.com/a"]}
        made = await world.create(objects, {"metadata": metadata, "spec": spec})
        assert made.code == 201, made.body
        await stored_before()
        labelled = await world.patch(path, {"metadata": {"labels": {"a": "b"}}})
        assert labelled.code == 200, labelled.body
        before = await stored_before()
        written = await world.update(path, {**before, "metadata": {**before["metadata"], "annotations": {"a": "b"}}})
        assert written.code == 200, written.body
        assert {each.body["metadata"].get("generation") for each in (made, labelled, written)} in ({1}, {None})
        if kind.scale is not None:
            await stored_before()
            scaled = await world.patch(f"{path}/scale", {"spec": {"replicas": 3}})
            assert (scaled.code, (await world.get(path)).body["metadata"]["generation"]) == (200, 2), scaled.body
        await stored_before()
        await world.delete(path, propagationPolicy="Background")
        freed = await world.patch(path, {"metadata": {"finalizers": []}})
        assert (freed.code, (await world.get(path)).code) == (200, 404), freed.body

    tell(story)


def _kind(name: str) -> Kind:
    return next(kind for kind in BUILT_IN if kind.kind == name)


def _completed(name: str, given: Manifest) -> Manifest:
    kind = _kind(name)
    manifest: Manifest = {"kind": name, "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, **given}
    kind.default(manifest)
    kind.complete(manifest)
    return manifest


def _holds(found: Any, expected: Any) -> bool:
    """Tells whether all that is expected is there; None expects nothing."""
    if isinstance(expected, dict):
        return all(_holds(found.get(key), value) for key, value in cast(Manifest, expected).items())
    if isinstance(expected, list):
        wanted = cast(list[Any], expected)
        return len(found) == len(wanted) and all(map(_holds, found, wanted))
    return found == expected
