"""Pods that a kubelet could not run: refused when they are written, with the field and the reason."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.kinds.job_rules import validate_cron_job, validate_job
from kubeserver.kinds.pod_rules import validate_pod_spec, validate_whole_pod
from kubeserver.kinds.pods import default_pod_spec
from kubeserver.kinds.workload_rules import validate_daemon_set, validate_deployment, validate_stateful_set
from kubeserver.kinds.workloads import (
    default_cron_job,
    default_daemon_set,
    default_deployment,
    default_job,
    default_stateful_set,
    select_own_pods,
)
from tests.kubeserver.api_world import DEPLOYMENTS, ApiWorld, deployment, tell

VOLUMES: list[tuple[dict[str, Any], str]] = [
    ({"name": "v", "hostPath": {}}, "v.hostPath.path: Required value"),
    ({"name": "v", "hostPath": {"path": "/a/../b"}}, 'v.hostPath.path: Invalid value: "/a/../b": must not contain'),
    ({"name": "v", "hostPath": {"path": "/a", "type": "X"}}, 'v.hostPath.type: Unsupported value: "X": supported'),
    ({"name": "v", "secret": {}}, "v.secret.secretName: Required value"),
    ({"name": "v", "configMap": {}}, "v.configMap.name: Required value"),
    (
        {"name": "v", "configMap": {"name": "a", "defaultMode": 1000}},
        "v.configMap.defaultMode: Invalid value: 1000: must",
    ),
    (
        {"name": "v", "configMap": {"name": "a", "items": [{"path": "../a"}]}},
        "v.configMap.items[0].key: Required value",
    ),
    ({"name": "v", "persistentVolumeClaim": {}}, "v.persistentVolumeClaim.claimName: Required value"),
    ({"name": "v", "nfs": {"server": "s", "path": "a"}}, 'v.nfs.path: Invalid value: "a": must be an absolute path'),
    ({"name": "v", "emptyDir": {}, "configMap": {"name": "a"}}, "v.configMap: Forbidden: may not specify more than 1"),
    ({"name": "v", "projected": {"sources": [{"secret": {}}]}}, "v.projected.sources[0].secret.name: Required value"),
    (
        {"name": "v", "downwardAPI": {"items": [{"path": "a"}]}},
        "v.downwardAPI.fieldRef: Required value: one of fieldRef",
    ),
    ({"name": "V_", "emptyDir": {}}, 'v.name: Invalid value: "V_": a lowercase RFC 1123 label'),
]


@pytest.mark.parametrize(("volume", "said"), VOLUMES)
def test_a_volume_has_one_source_that_can_be_mounted(volume: dict[str, Any], said: str) -> None:
    first = problems({"containers": [container()], "volumes": [volume]})[0]
    assert first.startswith(said.replace("v.", "spec.volumes[0].", 1))


FILE = "env[0].valueFrom.fileKeyRef"
AGAIN = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
"""A rule by which one container starts again, beta since Kubernetes 1.35."""


def from_file(**fields: str) -> dict[str, Any]:
    """A container with a variable of a file in a volume, beta since Kubernetes 1.35."""
    source = {"volumeName": "v", "path": "a.env", "key": "A", **fields}
    return {"env": [{"name": "A", "valueFrom": {"fileKeyRef": source}}]}


CONTAINERS: list[tuple[dict[str, Any], str]] = [
    ({"env": [{"name": "A", "valueFrom": {}}]}, 'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`'),
    (
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nope"}}}]},
        'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.nope": error converting fieldPath: field label',
    ),
    (
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]},
        'env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name"',
    ),
    ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}]}, ""),
    (
        {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "x"}}}]},
        'env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "x"',
    ),
    (
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "x"}}}]},
        "env[0].valueFrom.secretKeyRef.key: Required value",
    ),
    ({"envFrom": [{}]}, 'envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'),
    ({"envFrom": [{"configMapRef": {}}]}, "envFrom[0].configMapRef.name: Required value"),
    ({"ports": [{"containerPort": 1, "name": "UPPER"}]}, 'ports[0].name: Invalid value: "UPPER": must contain only'),
    (
        {"ports": [{"containerPort": 1, "name": "a--b"}]},
        'ports[0].name: Invalid value: "a--b": must not contain consec',
    ),
    ({"ports": [{"containerPort": 1, "hostPort": 70000}]}, "ports[0].hostPort: Invalid value: 70000: must be between"),
    ({"volumeMounts": [{"name": "x", "mountPath": "/a"}]}, 'volumeMounts[0].name: Not found: "x"'),
    (
        {"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}]},
        'volumeMounts[1].mountPath: Invalid value: "/a": must be unique',
    ),
    ({"volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "../b"}]}, "volumeMounts.subPath: Invalid value"),
    ({"volumeDevices": [{"name": "v", "devicePath": "/a"}]}, 'volumeDevices[0].name: Invalid value: "v": can only use'),
    ({"livenessProbe": {}}, "livenessProbe: Required value: must specify a handler type"),
    ({"livenessProbe": {"exec": {}}}, "livenessProbe.exec.command: Required value"),
    ({"livenessProbe": {"httpGet": {"port": 0}}}, "livenessProbe.httpGet.port: Invalid value: 0: must be between 1"),
    (
        {"livenessProbe": {"tcpSocket": {"port": "x!"}}},
        'livenessProbe.tcpSocket.port: Invalid value: "x!": must contain',
    ),
    (
        {"livenessProbe": {"tcpSocket": {"port": 1}, "grpc": {"port": 1}}},
        "livenessProbe.grpc: Forbidden: may not specify more than 1 handler type",
    ),
    (
        {"startupProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}},
        "startupProbe.successThreshold: Invalid value: 2: must be 1",
    ),
    (
        {"readinessProbe": {"tcpSocket": {"port": 1}, "periodSeconds": -1}},
        "readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
    ),
    ({"lifecycle": {"preStop": {}}}, "lifecycle.preStop: Required value: must specify a handler type"),
    (
        {"lifecycle": {"preStop": {"sleep": {"seconds": 99}}}},
        "lifecycle.preStop.sleep: Invalid value: 99: must be non-neg",
    ),
    (
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        'resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ),
    (
        {"resources": {"requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "1"}}},
        'resources.requests: Invalid value: "2": must be equal to nvidia.com/gpu limit of 1',
    ),
    (
        {"resources": {"requests": {"nvidia.com/gpu": "2"}}},
        "resources.limits: Required value: Limit must be set for non overcommitable resources",
    ),
    (
        {"resources": {"limits": {"foo": "1"}}},
        'resources.limits[foo]: Invalid value: "foo": must be a standard resource',
    ),
    (
        {"resources": {"limits": {"cpu": "-1"}}},
        'resources.limits[cpu]: Invalid value: "-1": must be greater than or equ',
    ),
    (
        {"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
        'securityContext: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: cannot set',
    ),
    ({"securityContext": {"runAsUser": -5}}, "securityContext.runAsUser: Invalid value: -5: must be between 0 and"),
    ({"terminationMessagePolicy": "X"}, 'terminationMessagePolicy: Unsupported value: "X": supported values: "File"'),
    ({"restartPolicy": "Always"}, ""),
    ({"restartPolicy": "Maybe"}, 'restartPolicy: Unsupported value: "Maybe": supported values: "Always", "Never"'),
    ({"restartPolicy": "Never", "restartPolicyRules": [AGAIN]}, ""),
    ({"restartPolicyRules": [AGAIN]}, "restartPolicy: Required value: must specify restartPolicy when restart rules"),
    (
        {"restartPolicy": "Never", "restartPolicyRules": [AGAIN] * 21},
        "restartPolicyRules: Too many: 21: must have at most 20 items",
    ),
    (
        {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Stop", "exitCodes": {"operator": "In"}}]},
        'restartPolicyRules[0].action: Unsupported value: "Stop": supported values: "Restart", "RestartAllContainers"',
    ),
    (
        {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]},
        "restartPolicyRules[0].exitCodes: Required value: must be specified",
    ),
    (
        {"restartPolicy": "Never", "restartPolicyRules": [{**AGAIN, "exitCodes": {"operator": "Is"}}]},
        'restartPolicyRules[0].exitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"',
    ),
    (from_file(), ""),
    (from_file(path="/absolute", key="1 a"), ""),
    (from_file(path="../a"), f"{FILE}.path: Invalid value: \"../a\": must not contain '..'"),
    (from_file(path=""), f"{FILE}.path: Required value"),
    (from_file(key=""), f"{FILE}.key: Required value"),
    (from_file(key="a=b"), f'{FILE}.key: Invalid value: "a=b": a valid environment variable name must consist'),
    (from_file(volumeName="w"), f'{FILE}.volumeName: Not found: "w"'),
    (from_file(volumeName="c"), f'{FILE}.volumeName: Invalid value: "c": referenced volume must be of type emptyDir'),
    ({"name": "a.b"}, 'name: Invalid value: "a.b": must not contain dots'),
]


@pytest.mark.parametrize(("fields", "said"), CONTAINERS)
def test_a_container_can_be_started(fields: dict[str, Any], said: str) -> None:
    """Rules as kube-apiserver 1.36.2 has them."""
    volumes: list[dict[str, Any]] = [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c"}}]
    spec: dict[str, Any] = {"containers": [container(**fields)], "volumes": volumes}
    told = problems(spec)
    assert told[0].startswith(f"spec.containers[0].{said}") if said else told == []


PODS: list[tuple[dict[str, Any], list[str]]] = [
    ({"hostUsers": False, "hostNetwork": True}, ["hostNetwork: Forbidden: when `hostUsers` is false"]),
    ({"hostUsers": False, "hostPID": True}, ["HostPID: Forbidden: when `hostUsers` is false"]),
    ({"hostnameOverride": "A_b"}, ['hostnameOverride: Invalid value: "A_b": a lowercase RFC 1123 subdomain']),
    ({"hostnameOverride": "a" * 65}, ["hostnameOverride: Too long: may not be more than 64 bytes"]),
    (
        {"hostnameOverride": "a.b", "setHostnameAsFQDN": True},
        ["hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true"],
    ),
    (
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        ['resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ),
    (
        {"resources": {"limits": {"ephemeral-storage": "1Gi"}}},
        ['resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu"'],
    ),
    ({"restartPolicy": "Maybe"}, ["restartPolicy: Unsupported value"]),
    ({"activeDeadlineSeconds": 0}, ["activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647"]),
    ({"nodeSelector": {"a b": "c"}}, ['nodeSelector: Invalid value: "a b": name part must consist']),
    ({"serviceAccountName": "Bad_"}, ['serviceAccountName: Invalid value: "Bad_": a lowercase RFC 1123 subdomain']),
    ({"hostname": "Bad"}, ['hostname: Invalid value: "Bad": a lowercase RFC 1123 label']),
    ({"dnsPolicy": "None"}, ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
    (
        {"dnsConfig": {"nameservers": ["x"]}},
        ['dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address'],
    ),
    ({"hostAliases": [{"ip": "x"}]}, ['hostAliases[0].ip: Invalid value: "x": must be a valid IP address']),
    (
        {"readinessGates": [{"conditionType": "a b"}]},
        ['readinessGates[0].conditionType: Invalid value: "a b": name part'],
    ),
    ({"schedulingGates": [{"name": "a"}, {"name": "a"}]}, ['schedulingGates[1]: Duplicate value: "a"']),
    ({"securityContext": {"fsGroup": -1}}, ["securityContext.fsGroup: Invalid value: -1: must be between 0 and"]),
    (
        {"securityContext": {"sysctls": [{"name": "a b"}]}},
        ['securityContext.sysctls[0].name: Invalid value: "a b": must'],
    ),
    (
        {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
        ["securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"],
    ),
    (
        {"tolerations": [{"operator": "Equal"}]},
        ['tolerations[0].operator: Invalid value: "Equal": operator must be Exists'],
    ),
    ({"tolerations": [{"key": "a", "operator": "X"}]}, ['tolerations[0].operator: Unsupported value: "X": supported']),
    (
        {"tolerations": [{"key": "a", "effect": "X"}]},
        ['tolerations[0].effect: Unsupported value: "X": supported values'],
    ),
    (
        {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]},
        ['tolerations[0].operator: Invalid value: "x": value must be empty'],
    ),
    (
        {"tolerations": [{"key": "a", "tolerationSeconds": 5, "effect": "NoSchedule"}]},
        ["tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute'"],
    ),
    (
        {"topologySpreadConstraints": [{"maxSkew": 0, "whenUnsatisfiable": "x"}]},
        [
            "topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            "topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
            'topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "x"',
        ],
    ),
    (
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
        ["affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value"],
    ),
    (
        {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0}]}}},
        ["affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be"],
    ),
    ({"initContainers": [{"name": "c", "image": "i"}]}, ['initContainers[0].name: Duplicate value: "c"']),
    (
        {"initContainers": [{"name": "d", "image": "i", "livenessProbe": {"tcpSocket": {"port": 1}}}]},
        ["initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always"],
    ),
    ({"preemptionPolicy": "X"}, ['preemptionPolicy: Unsupported value: "X"']),
]


@pytest.mark.parametrize(("fields", "said"), PODS)
def test_a_pod_can_be_placed_and_run(fields: dict[str, Any], said: list[str]) -> None:
    told = problems({"containers": [container()], **fields})
    assert len(told) == len(said)
    assert all(found.startswith(f"spec.{start}") for found, start in zip(told, said, strict=True))


def test_an_image_has_no_space_around_it_in_a_pod_though_it_may_in_a_template() -> None:
    spec: dict[str, Any] = {"containers": [container(image=" i")]}
    default_pod_spec(spec)
    assert validate_pod_spec(spec, "spec") == []
    assert "leading or trailing whitespace" in str(validate_whole_pod(spec, "spec")[0])


DEPLOYMENT_FIELDS: list[tuple[dict[str, Any], str]] = [
    (
        {"strategy": {"type": "X"}},
        'spec.strategy: Unsupported value: {"Type":"X","RollingUpdate":null}: supported values',
    ),
    (
        {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
        "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ),
    (
        {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}},
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0',
    ),
    (
        {"strategy": {"rollingUpdate": {"maxSurge": "x%"}}},
        'spec.strategy.rollingUpdate.maxSurge: Invalid value: "x%": a valid percent string must be a numeric string',
    ),
    (
        {"strategy": {"rollingUpdate": {"maxUnavailable": "150%"}}},
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "150%": must not be greater than 100%',
    ),
    (
        {"progressDeadlineSeconds": 5, "minReadySeconds": 10},
        "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
    ),
    (
        {"selector": {"matchLabels": {"a b": "x"}}},
        'spec.selector.matchLabels: Invalid value: "a b": name part must consist',
    ),
    (
        {"selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}},
        "spec.selector.matchExpressions[0].values: Req",
    ),
]


@pytest.mark.parametrize(("fields", "said"), DEPLOYMENT_FIELDS)
def test_a_deployment_can_be_rolled_out(fields: dict[str, Any], said: str) -> None:
    manifest = deployment("web")
    manifest["spec"] |= fields
    default_deployment(manifest)
    assert str(validate_deployment(manifest, None)[0]).startswith(said)


def test_a_template_without_labels_matches_no_selector() -> None:
    manifest = deployment("web")
    del manifest["spec"]["template"]["metadata"]["labels"]
    default_deployment(manifest)
    said = "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"
    assert [str(problem) for problem in validate_deployment(manifest, None)] == [said]


def test_a_stateful_set_mounts_the_volumes_of_its_claim_templates_and_keeps_most_of_its_spec() -> None:
    old, new = stateful_set(), stateful_set()
    assert validate_stateful_set(old, None) == []
    new["spec"] |= {"replicas": 5, "minReadySeconds": 3}
    assert validate_stateful_set(new, old) == []
    new["spec"]["serviceName"] = "other"
    told = [str(problem) for problem in validate_stateful_set(new, old)]
    assert len(told) == 1
    assert told[0].startswith(
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals'"
    )


def test_a_daemon_set_makes_room_on_a_node_or_waits_for_it_but_not_both() -> None:
    manifest = deployment("web")
    manifest["spec"]["updateStrategy"] = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}}
    default_daemon_set(manifest)
    said = (
        "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"
    )
    assert [str(problem) for problem in validate_daemon_set(manifest, None)] == [said]


def test_a_job_ends_and_so_do_those_of_a_cron_job() -> None:
    template = {"spec": {"containers": [container()]}}
    job: Manifest = {"metadata": {"name": "a"}, "spec": {"template": template}}
    default_job(job)
    select_own_pods(job)
    said = 'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'
    assert [str(problem) for problem in validate_job(job, None)] == [said]
    cron_job: Manifest = {"metadata": {"name": "a"}, "spec": {"schedule": "@daily", "jobTemplate": {"spec": {}}}}
    cron_job["spec"]["jobTemplate"]["spec"]["template"] = {"spec": {"containers": [container()]}}
    default_cron_job(cron_job)
    assert [problem.field for problem in validate_cron_job(cron_job, None)] == [
        "spec.jobTemplate.spec.template.spec.restartPolicy"
    ]


def test_the_template_of_a_daemon_set_is_numbered() -> None:
    async def story(world: ApiWorld) -> None:
        path, number = DEPLOYMENTS.replace("deployments", "daemonsets"), "deprecated.daemonset.template.generation"
        made = await world.create(path, {**deployment("web"), "kind": "DaemonSet"})
        assert made.body["metadata"]["annotations"] == {number: "1"}
        image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "image:2"}]}}}}
        for patch, expected in ((image, "2"), ({"metadata": {"annotations": None}}, "2")):
            assert (await world.patch(f"{path}/web", patch)).body["metadata"]["annotations"] == {number: expected}

    tell(story)


def container(**fields: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", **fields}


def problems(spec: dict[str, Any]) -> list[str]:
    default_pod_spec(spec)
    return [str(problem) for problem in validate_pod_spec(spec, "spec")]


def stateful_set() -> Manifest:
    manifest = deployment("web")
    main = manifest["spec"]["template"]["spec"]["containers"][0]
    main["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    manifest["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": {}}]
    manifest["spec"]["serviceName"] = "web"
    default_stateful_set(manifest)
    return manifest
