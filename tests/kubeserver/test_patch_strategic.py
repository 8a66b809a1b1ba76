"""Strategic merge patch; the expected results are those of `kubectl patch --local --type strategic`."""

from typing import Any

import pytest

from kubeserver.patch import strategic

NGINX = {"name": "nginx", "image": "nginx:1"}
REDIS = {"name": "redis", "image": "redis:7"}
SIDECAR = {"name": "sidecar", "image": "envoy", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}


def names(items: list[dict[str, Any]]) -> str:
    return " ".join(item["name"] for item in items)


def patch_pod_spec(spec: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": spec}
    return strategic.apply(pod, {"spec": patch}, "v1", "Pod")["spec"]


def patch_metadata(metadata: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    return strategic.apply({"metadata": metadata}, {"metadata": patch}, "v1", "ConfigMap")["metadata"]


def test_the_documented_example_adds_a_container_to_a_deployment() -> None:
    deployment = {
        "spec": {"template": {"spec": {"containers": [NGINX], "tolerations": [{"key": "disktype"}]}}},
    }
    patch = {"spec": {"template": {"spec": {"containers": [REDIS]}}}}
    patched = strategic.apply(deployment, patch, "apps/v1", "Deployment")
    assert patched["spec"]["template"]["spec"] == {"containers": [REDIS, NGINX], "tolerations": [{"key": "disktype"}]}
    assert deployment["spec"]["template"]["spec"]["containers"] == [NGINX]


def test_the_documented_example_replaces_tolerations() -> None:
    patched = patch_pod_spec({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}, {"key": "c"}]})
    assert patched == {"tolerations": [{"key": "b"}, {"key": "c"}]}


def test_the_documented_example_retains_only_the_keys_of_the_new_strategy() -> None:
    deployment = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "30%"}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategic.apply(deployment, patch, "apps/v1", "Deployment") == {"spec": {"strategy": {"type": "Recreate"}}}


MERGED = [
    ("apps/v1", "Deployment", "spec.template.spec.containers", "name"),
    ("apps/v1", "StatefulSet", "spec.template.spec.initContainers", "name"),
    ("apps/v1", "DaemonSet", "spec.template.spec.volumes", "name"),
    ("batch/v1", "Job", "spec.template.spec.imagePullSecrets", "name"),
    ("batch/v1", "CronJob", "spec.jobTemplate.spec.template.spec.containers", "name"),
    ("v1", "PodTemplate", "template.spec.containers", "name"),
    ("v1", "Pod", "spec.hostAliases", "ip"),
    ("v1", "Pod", "spec.topologySpreadConstraints", "topologyKey"),
    ("v1", "Pod", "spec.ephemeralContainers", "name"),
    ("v1", "Pod", "status.conditions", "type"),
    ("v1", "Pod", "metadata.ownerReferences", "uid"),
    ("v1", "Service", "spec.ports", "port"),
    ("v1", "ServiceAccount", "secrets", "name"),
    ("v1", "Node", "status.addresses", "type"),
    ("v1", "Namespace", "status.conditions", "type"),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "status.conditions", "type"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "webhooks", "name"),
]

ATOMIC = [
    ("v1", "Node", "spec.taints", "key"),
    ("v1", "Pod", "spec.tolerations", "key"),
    ("v1", "Pod", "spec.readinessGates", "conditionType"),
    ("v1", "Pod", "status.containerStatuses", "name"),
    ("v1", "ServiceAccount", "imagePullSecrets", "name"),
    ("v1", "Endpoints", "subsets", "name"),
    ("apps/v1", "StatefulSet", "spec.volumeClaimTemplates", "kind"),
    ("networking.k8s.io/v1", "Ingress", "spec.rules", "host"),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "spec.metrics", "type"),
    ("certificates.k8s.io/v1", "CertificateSigningRequest", "status.conditions", "type"),
]


def at(path: str, value: Any) -> Any:
    for part in reversed(path.split(".")):
        value = {part: value}
    return value


@pytest.mark.parametrize(("api_version", "kind", "path", "key"), MERGED)
def test_a_list_with_a_merge_key_is_merged(api_version: str, kind: str, path: str, key: str) -> None:
    target = at(path, [{key: "a", "x": 1}, {key: "b", "x": 1}])
    patched = strategic.apply(target, at(path, [{key: "b", "y": 2}]), api_version, kind)
    assert patched == at(path, [{key: "a", "x": 1}, {key: "b", "x": 1, "y": 2}])


@pytest.mark.parametrize(("api_version", "kind", "path", "key"), ATOMIC)
def test_a_list_without_a_merge_key_is_replaced(api_version: str, kind: str, path: str, key: str) -> None:
    target = at(path, [{key: "a", "x": 1}, {key: "b", "x": 1}])
    patched = strategic.apply(target, at(path, [{key: "b", "y": 2}]), api_version, kind)
    assert patched == at(path, [{key: "b", "y": 2}])


@pytest.mark.parametrize(
    ("field", "key"),
    [("env", "name"), ("ports", "containerPort"), ("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")],
)
def test_lists_inside_containers_are_merged(field: str, key: str) -> None:
    spec = {"containers": [{"name": "c", field: [{key: "a"}, {key: "b"}]}]}
    patched = patch_pod_spec(spec, {"containers": [{"name": "c", field: [{key: "b", "x": 1}]}]})
    assert patched == {"containers": [{"name": "c", field: [{key: "a"}, {key: "b", "x": 1}]}]}


CONTAINER_PATCHES = [
    ({"containers": [{"name": "new"}]}, "new nginx redis sidecar"),
    ({"containers": [{"name": "new"}, {"name": "redis"}]}, "new nginx redis sidecar"),
    ({"containers": [{"name": "sidecar"}, {"name": "nginx"}]}, "redis sidecar nginx"),
    ({"containers": [{"name": "redis", "$patch": "delete"}]}, "nginx sidecar"),
    ({"containers": [{"name": "unknown", "$patch": "delete"}]}, "nginx redis sidecar"),
    ({"containers": [{"$patch": "replace"}, {"name": "new"}]}, "new"),
    ({"containers": [{"$patch": "replace"}]}, ""),
    ({"$setElementOrder/containers": [{"name": "sidecar"}, {"name": "nginx"}]}, "redis sidecar nginx"),
    (
        {
            "$setElementOrder/containers": [{"name": "sidecar"}, {"name": "new"}, {"name": "nginx"}],
            "containers": [{"name": "new"}],
        },
        "redis sidecar new nginx",
    ),
    (
        {
            "$setElementOrder/containers": [{"name": "nginx"}, {"name": "sidecar"}],
            "containers": [{"name": "redis", "$patch": "delete"}],
        },
        "nginx sidecar",
    ),
    ({"$patch": "replace", "containers": [{"name": "q"}]}, "q"),
]


@pytest.mark.parametrize(("patch", "expected"), CONTAINER_PATCHES)
def test_elements_are_added_deleted_replaced_and_ordered(patch: dict[str, Any], expected: str) -> None:
    patched = patch_pod_spec({"containers": [NGINX, REDIS, SIDECAR]}, patch)
    assert names(patched["containers"]) == expected


def test_null_removes_a_field_of_an_element_and_a_whole_list() -> None:
    spec = {"containers": [SIDECAR]}
    patched = patch_pod_spec(spec, {"containers": [{"name": "sidecar", "env": [{"name": "X", "value": None}]}]})
    assert patched["containers"][0]["env"] == [{"name": "X"}, {"name": "Y", "value": "2"}]
    assert patch_pod_spec(spec, {"containers": None}) == {}


def test_directives_and_nulls_do_not_stay_in_what_is_new() -> None:
    patched = patch_pod_spec(
        {},
        {
            "containers": [{"name": "a", "env": [{"name": "x", "$patch": "delete"}], "resources": {"cpu": None}}],
            "tolerations": [{"$patch": "replace"}, {"key": "a"}],
        },
    )
    assert patched == {"containers": [{"name": "a", "env": [], "resources": {}}], "tolerations": [{"key": "a"}]}


def test_volumes_change_their_source_with_retain_keys() -> None:
    spec = {"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}, {"name": "w"}]}
    volume = {"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}
    patched = patch_pod_spec(spec, {"volumes": [volume]})
    assert patched == {"volumes": [{"name": "v", "configMap": {"name": "c"}}, {"name": "w"}]}


FINALIZER_PATCHES = [
    ({"finalizers": ["d", "b"]}, ["d", "a", "b", "c"]),
    ({"finalizers": ["c", "a"]}, ["b", "c", "a"]),
    ({"finalizers": ["a", "a"]}, ["a", "b", "c"]),
    ({"$deleteFromPrimitiveList/finalizers": ["b"]}, ["a", "c"]),
    ({"$deleteFromPrimitiveList/finalizers": ["b"], "finalizers": ["d"]}, ["d", "a", "c"]),
    ({"$setElementOrder/finalizers": ["c", "b", "a"]}, ["c", "b", "a"]),
]


@pytest.mark.parametrize(("patch", "expected"), FINALIZER_PATCHES)
def test_finalizers_are_merged_as_a_set(patch: dict[str, Any], expected: list[str]) -> None:
    assert patch_metadata({"finalizers": ["a", "b", "c"]}, patch)["finalizers"] == expected


LABEL_PATCHES: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"labels": {"m": "2", "l": None}}, {"m": "2"}),
    ({"labels": {"$patch": "replace", "m": "2"}}, {"m": "2"}),
    ({"labels": {"$patch": "delete"}}, {}),
    ({"labels": {"$retainKeys": ["m"], "m": "2"}}, {"m": "2"}),
]


@pytest.mark.parametrize(("patch", "expected"), LABEL_PATCHES)
def test_mappings_are_merged_replaced_emptied_and_retained(patch: dict[str, Any], expected: dict[str, str]) -> None:
    assert patch_metadata({"labels": {"l": "1"}}, patch)["labels"] == expected


def test_the_selector_of_a_disruption_budget_is_replaced() -> None:
    target = {"spec": {"selector": {"matchLabels": {"a": "b"}}}}
    patch = {"spec": {"selector": {"matchLabels": {"c": "d"}}}}
    assert strategic.apply(target, patch, "policy/v1", "PodDisruptionBudget") == patch


REFUSED: list[tuple[Any, str]] = [
    ([], "patch: is not a mapping"),
    ({"$patch": "bogus"}, r"unknown patch type: bogus in map: map\[\$patch:bogus\]"),
    ({"spec": {"containers": ["x"]}}, r"spec\.containers\[0\]: is not a mapping"),
    ({"spec": {"containers": [{"image": "x"}]}}, r"map: map\[image:x\] does not contain declared merge key: name"),
    (
        {"spec": {"containers": [{"name": "a", "ports": [{"name": "p"}]}]}},
        r"map: map\[name:p\] does not contain declared merge key: containerPort",
    ),
    ({"spec": {"containers": [{"$patch": "merge"}]}}, r"unknown patch type: merge in map"),
    ({"metadata": {"labels": {"$retainKeys": ["m"], "n": "2"}}}, "invalid patch format of retainKeys"),
    ({"metadata": {"finalizers": [{}]}}, r"metadata\.finalizers: is not a list of plain values"),
    (
        {"spec": {"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]}},
        r"spec\.containers: the elements are not those of the \$setElementOrder/ list",
    ),
]


@pytest.mark.parametrize(("patch", "message"), REFUSED)
def test_a_wrong_patch_is_refused_with_its_path(patch: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        strategic.apply({"spec": {"containers": []}, "metadata": {"labels": {}}}, patch, "v1", "Pod")
