"""Refusals of each kind, with the field and the reason."""

import copy
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.kinds.kind import Kind
from tests.kubeserver.api_world import ApiWorld, tell

RBAC = "rbac.authorization.k8s.io"
VIEW = {"kind": "ClusterRole", "name": "view"}
CLASS = "kubernetes.io/ingress.class"


def kind_of(name: str) -> Kind:
    return next(kind for kind in BUILT_IN if kind.kind == name)


def told(kind: Kind, manifest: Manifest, old: Manifest | None = None) -> list[str]:
    manifest = {"kind": kind.kind, "metadata": {"name": "a", "namespace": "default"}, **copy.deepcopy(manifest)}
    kind.default(manifest)
    return [str(problem) for problem in kind.validate(manifest, old)]


def service(**spec: Any) -> Manifest:
    return {"spec": {"ports": [{"port": 80}], **spec}}


def ingress(**path: Any) -> Manifest:
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    return {"spec": {"rules": [{"http": {"paths": [{"backend": backend, **path}]}}]}}


def autoscaler(**spec: Any) -> Manifest:
    return {
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
            "maxReplicas": 3,
            **spec,
        }
    }


def measured(kind: str, **source: Any) -> Manifest:
    return autoscaler(metrics=[{"type": kind, kind[0].lower() + kind[1:]: source}])


REFUSED: list[tuple[str, Manifest, str]] = [
    (
        "HorizontalPodAutoscaler",
        {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "a"}, "maxReplicas": 1}},
        'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
    ),
    (
        "HorizontalPodAutoscaler",
        {"spec": {"scaleTargetRef": {"apiVersion": "a/b/c", "kind": "Deployment", "name": "a"}, "maxReplicas": 1}},
        'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ),
    (
        "IngressClass",
        {"spec": {"controller": "a.b/c", "parameters": {"kind": "A", "name": "a", "namespace": "n"}}},
        "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
    ),
    (
        "NetworkPolicy",
        {"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}]}},
        'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix',
    ),
    (
        "PodDisruptionBudget",
        {"spec": {"minAvailable": 1, "maxUnavailable": 1}},
        'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: '
        "minAvailable and maxUnavailable cannot be both set",
    ),
    ("PodDisruptionBudget", {"spec": {"minAvailable": -1}}, "spec.minAvailable: Invalid value: -1: must be greater"),
    ("PodDisruptionBudget", {"spec": {"maxUnavailable": "101%"}}, 'spec.maxUnavailable: Invalid value: "101%": must'),
    (
        "Pod",
        {"spec": {"containers": [{"name": "a", "image": "a"}], "ephemeralContainers": [{"name": "e"}]}},
        "spec.ephemeralContainers: Forbidden: cannot be set on create",
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"cpu": "1"}, "scopes": ["BestEffort"]}},
        'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"pods": "1"}, "scopes": ["Terminating", "NotTerminating"]}},
        'spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes',
    ),
    ("Namespace", {"spec": {"finalizers": ["x"]}}, 'spec.finalizers: Invalid value: "x": name is neither a standard'),
    (
        "Service",
        service(clusterIP="None", type="NodePort"),
        'spec.clusterIPs[0]: Invalid value: "None": may not be set to',
    ),
    ("Service", service(type="ExternalName", externalName="A_"), 'spec.externalName: Invalid value: "A_": a lowercase'),
    (
        "Service",
        service(externalIPs=["127.0.0.1"]),
        'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the',
    ),
    ("Service", service(externalIPs=["fe80::1%eth0"]), "spec.externalIPs[0]: Invalid value: "),
    (
        "Service",
        service(externalIPs=["0.0.0.0"]),
        'spec.externalIPs[0]: Invalid value: "0.0.0.0": may not be unspecified',
    ),
    (
        "Service",
        service(loadBalancerSourceRanges=["x"]),
        "spec.LoadBalancerSourceRanges: Forbidden: may only be used when",
    ),
    (
        "Service",
        service(type="LoadBalancer", loadBalancerSourceRanges=["x"]),
        'spec.LoadBalancerSourceRanges[0]: Invalid value: "x": must be a valid CIDR value',
    ),
    (
        "Service",
        service(type="NodePort", externalTrafficPolicy="X"),
        'spec.externalTrafficPolicy: Unsupported value: "X"',
    ),
    (
        "Service",
        service(healthCheckNodePort=30000),
        "spec.healthCheckNodePort: Invalid value: 30000: may only be set when",
    ),
    (
        "Service",
        service(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 0}}),
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0",
    ),
    (
        "Service",
        service(ports=[{"name": "a", "port": 80}, {"name": "b", "port": 80}]),
        'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,',
    ),
    ("Node", {"spec": {"taints": [{"key": "a", "effect": "X"}]}}, 'metadata.taints[0].effect: Unsupported value: "X"'),
    (
        "Node",
        {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}] * 2}},
        'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints',
    ),
    ("Node", {"spec": {"podCIDR": "x"}}, 'spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value'),
    ("PersistentVolume", {"spec": {}}, "spec.accessModes: Required value"),
    (
        "PersistentVolume",
        {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}},
        "spec: Required value: must specify a volume type",
    ),
    ("PersistentVolumeClaim", {"spec": {}}, "spec.accessModes: Required value: at least 1 access mode is required"),
    (
        "PersistentVolumeClaim",
        {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0"}}}},
        'spec.resources[storage]: Invalid value: "0": must be greater than zero',
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"pods": "-1"}}},
        'spec.hard[pods]: Invalid value: "-1": must be greater than or',
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"foo": "1"}}},
        'spec.hard[foo]: Invalid value: "foo": must be a standard resource',
    ),
    ("ResourceQuota", {"spec": {"scopes": ["X"]}}, 'spec.scopes: Invalid value: ["X"]: unsupported scope'),
    ("LimitRange", {"spec": {"limits": [{}]}}, 'spec.limits[0].type: Invalid value: "": name part must be non-empty'),
    (
        "LimitRange",
        {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]}},
        'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
    ),
    (
        "LimitRange",
        {"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}}]}},
        "spec.limits[0].default: Forbidden",
    ),
    ("Endpoints", {"subsets": [{}]}, "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"),
    (
        "Endpoints",
        {"subsets": [{"addresses": [{"ip": "x"}]}]},
        'subsets[0].addresses[0].ip: Invalid value: "x": must be a',
    ),
    ("Ingress", {"spec": {}}, "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"),
    (
        "Ingress",
        ingress(path="x", pathType="Prefix"),
        'spec.rules[0].http.paths[0].path: Invalid value: "x": must be an',
    ),
    ("Ingress", ingress(path="/x"), "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"),
    (
        "Ingress",
        {"spec": {"defaultBackend": {}}},
        'spec.defaultBackend: Invalid value: "": resource or service backend is',
    ),
    (
        "Ingress",
        {"spec": {"defaultBackend": {"service": {"name": "s"}}}},
        "spec.defaultBackend: Required value: port name or number is required",
    ),
    (
        "NetworkPolicy",
        {"spec": {"policyTypes": ["X"]}},
        'spec.policyTypes[0]: Unsupported value: "X": supported values',
    ),
    (
        "NetworkPolicy",
        {"spec": {"ingress": [{"from": [{}]}]}},
        "spec.ingress[0].from[0]: Required value: must specify a",
    ),
    (
        "NetworkPolicy",
        {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "x"}}]}]}},
        'spec.egress[0].to[0].ipBlock.cidr: Invalid value: "x": must be a valid CIDR value',
    ),
    (
        "NetworkPolicy",
        {"spec": {"ingress": [{"ports": [{"port": 0}]}]}},
        "spec.ingress[0].ports[0].port: Invalid value: 0",
    ),
    (
        "NetworkPolicy",
        {"spec": {"ingress": [{"ports": [{"port": 9, "endPort": 8}]}]}},
        "spec.ingress[0].ports[0].endPort: Invalid value: 9: must be greater than or equal to `port`",
    ),
    (
        "NetworkPolicy",
        {"spec": {"ingress": [{"ports": [{"port": "a", "endPort": 8}]}]}},
        "spec.ingress[0].ports[0].endPort: Invalid value: 8: may not be specified when `port` is non-numeric",
    ),
    (
        "NetworkPolicy",
        {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]}}]}]}},
        'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    ),
    (
        "Ingress",
        ingress(path="/a//b", pathType="Prefix"),
        "spec.rules[0].http.paths[0].path: Invalid value: \"/a//b\": must not contain '//'",
    ),
    (
        "Ingress",
        {"spec": {"rules": [{"host": "10.0.0.1"}]}},
        'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ),
    (
        "Ingress",
        {"spec": {"rules": [{"host": "a.*.b"}]}},
        'spec.rules[0].host: Invalid value: "a.*.b": a wildcard DNS-1123 subdomain must start with',
    ),
    (
        "Ingress",
        {"spec": {"rules": [{"host": "a"}], "tls": [{"hosts": ["b_"]}]}},
        'spec.tls[0].hosts[0]: Invalid value: "b_": a lowercase RFC 1123 subdomain must',
    ),
    (
        "Ingress",
        {"metadata": {"annotations": {CLASS: "x"}}, "spec": {"rules": [{"host": "a"}], "ingressClassName": "y"}},
        f'annotations.{CLASS}: Invalid value: "x": must match `ingressClassName` when both are specified',
    ),
    ("IngressClass", {"spec": {}}, "spec.controller: Required value"),
    (
        "IngressClass",
        {"spec": {"controller": "nginx"}},
        'spec.controller: Invalid value: "nginx": must be a domain-prefixed path (such as "acme.io/foo")',
    ),
    ("EndpointSlice", {}, "addressType: Required value"),
    ("EndpointSlice", {"addressType": "IP"}, 'addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4"'),
    (
        "EndpointSlice",
        {"addressType": "IPv4", "endpoints": [{"addresses": []}]},
        "endpoints[0].addresses: Required value: must contain at least 1 address",
    ),
    (
        "EndpointSlice",
        {"addressType": "IPv4", "endpoints": [{"addresses": ["::1"]}]},
        'endpoints[0].addresses[0]: Invalid value: "::1": must be a valid IPv4 address',
    ),
    (
        "EndpointSlice",
        {"addressType": "FQDN", "endpoints": [{"addresses": ["a"]}]},
        'endpoints[0].addresses[0]: Invalid value: "a": should be a domain with at least two segments',
    ),
    (
        "EndpointSlice",
        {"addressType": "IPv6", "ports": [{"name": "a"}, {"name": "a"}]},
        'ports[1].name: Duplicate value: "a"',
    ),
    ("StorageClass", {}, "provisioner: Required value"),
    (
        "StorageClass",
        {"provisioner": "x", "reclaimPolicy": "X"},
        'reclaimPolicy: Unsupported value: "X": supported values',
    ),
    (
        "PriorityClass",
        {"value": 2_000_000_000},
        "value: Forbidden: maximum allowed value of a user defined priority is",
    ),
    (
        "PriorityClass",
        {"metadata": {"name": "system-x"}},
        "metadata.name: Forbidden: priority class names with 'system-'",
    ),
    (
        "ClusterRole",
        {"rules": [{"nonResourceURLs": ["/x"], "resources": ["pods"], "verbs": ["get"]}]},
        "rules[0].nonRes",
    ),
    ("ClusterRole", {"aggregationRule": {}}, "aggregationRule.clusterRoleSelectors: Required value: at least one"),
    (
        "ClusterRoleBinding",
        {"roleRef": VIEW, "subjects": [{"kind": "ServiceAccount", "name": "s"}]},
        "subjects[0].namespace: Required value",
    ),
    (
        "ClusterRoleBinding",
        {"roleRef": VIEW, "subjects": [{"kind": "Group", "name": "g", "apiGroup": "x"}]},
        f'subjects[0].apiGroup: Unsupported value: "x": supported values: "{RBAC}"',
    ),
    ("ClusterRoleBinding", {"roleRef": {**VIEW, "apiGroup": "x"}}, 'roleRef.apiGroup: Unsupported value: "x"'),
    (
        "HorizontalPodAutoscaler",
        {"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "a/b", "name": "c"}, "maxReplicas": 1}},
        "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
    ),
    (
        "HorizontalPodAutoscaler",
        autoscaler(metrics=[{"type": "Resource"}]),
        "spec.metrics[0].resource: Required value: must populate information for the given metric source",
    ),
    (
        "HorizontalPodAutoscaler",
        autoscaler(metrics=[{"type": "Cpu"}]),
        'spec.metrics[0].type: Unsupported value: "Cpu": supported values: "ContainerResource", "External"',
    ),
    (
        "HorizontalPodAutoscaler",
        measured("Resource", name="cpu", target={"type": "Utilization"}),
        "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or",
    ),
    (
        "HorizontalPodAutoscaler",
        measured("Pods", metric={"name": "a"}, target={"type": "Value", "value": "1"}),
        "spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue",
    ),
    (
        "HorizontalPodAutoscaler",
        measured("External", metric={"name": "a"}, target={"type": "Value", "value": "1", "averageValue": "1"}),
        "spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod",
    ),
    (
        "HorizontalPodAutoscaler",
        measured("Object", metric={"name": "a"}, target={"type": "Value", "value": "0"}),
        "spec.metrics[0].object.describedObject.kind: Required value",
    ),
    (
        "HorizontalPodAutoscaler",
        autoscaler(behavior={"scaleUp": {"stabilizationWindowSeconds": 3601}}),
        "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
    ),
    (
        "HorizontalPodAutoscaler",
        autoscaler(behavior={"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1801}]}}),
        "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
    ),
]


@pytest.mark.parametrize(("kind", "manifest", "said"), REFUSED)
def test_what_cannot_be_is_refused_by_its_field(kind: str, manifest: Manifest, said: str) -> None:
    assert told(kind_of(kind), manifest)[0].startswith(said)


ACCEPTED: list[tuple[str, Manifest]] = [
    (
        "HorizontalPodAutoscaler",
        {"spec": {"scaleTargetRef": {"kind": "ReplicationController", "name": "a"}, "maxReplicas": 1}},
    ),
    ("Service", service(sessionAffinity="ClientIP")),
    ("Service", service(type="LoadBalancer", loadBalancerSourceRanges=[" 10.0.0.0/8"])),
    ("Node", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]}}),
    ("ResourceQuota", {"spec": {"hard": {"pods": "1", "count/jobs.batch": "5"}, "scopes": ["BestEffort"]}}),
    ("LimitRange", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1"}}]}}),
    ("Ingress", ingress(path="/x", pathType="Prefix")),
    ("NetworkPolicy", {"spec": {"podSelector": {}, "ingress": [{"ports": [{"port": "http"}]}]}}),
    ("NetworkPolicy", {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "::/0", "except": ["fe80::/10"]}}]}]}}),
    ("NetworkPolicy", {"spec": {"ingress": [{"ports": [{"port": 8, "endPort": 9}]}]}}),
    ("Ingress", {"spec": {"rules": [{"host": "*.example.com"}], "tls": [{"hosts": ["*.example.com"]}]}}),
    ("Ingress", ingress(path="/a//(b)", pathType="ImplementationSpecific")),
    ("IngressClass", {"spec": {"controller": "example.com/controller"}}),
    ("EndpointSlice", {"addressType": "IPv6", "endpoints": [{"addresses": ["fd00::1"]}], "ports": [{"port": 8}]}),
    ("EndpointSlice", {"addressType": "FQDN", "endpoints": [{"addresses": ["a.b."]}]}),
    ("HorizontalPodAutoscaler", autoscaler(behavior={"scaleUp": {"selectPolicy": "Disabled"}})),
    ("HorizontalPodAutoscaler", measured("Resource", name="cpu", target={"type": "AverageValue", "averageValue": "1"})),
    ("PriorityClass", {"value": 5}),
    (
        "RoleBinding",
        {"roleRef": VIEW, "subjects": [{"kind": "ServiceAccount", "name": "s"}, {"kind": "User", "name": "u"}]},
    ),
]


def test_a_network_that_a_policy_had_before_may_stay_and_a_new_one_is_whole():
    """Kubernetes 1.36 refuses bits beyond the prefix in new values alone."""
    old, new = ({"spec": {"egress": [{"to": [{"ipBlock": {"cidr": cidr}}]}]}} for cidr in ("10.0.0.1/8", "10.0.0.2/8"))
    assert told(kind_of("NetworkPolicy"), old, old) == []
    assert "must not have bits set beyond the prefix length" in told(kind_of("NetworkPolicy"), new, old)[0]


@pytest.mark.parametrize(("kind", "manifest"), ACCEPTED)
def test_what_people_write_is_accepted(kind: str, manifest: Manifest) -> None:
    assert told(kind_of(kind), manifest) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            {"activeDeadlineSeconds": 5},
            {"activeDeadlineSeconds": 9},
            "spec.activeDeadlineSeconds: Invalid value: 9: must",
        ),
        ({"activeDeadlineSeconds": 5}, {}, "spec.activeDeadlineSeconds: Invalid value: null: must not update from a p"),
        ({"tolerations": [{"operator": "Exists"}]}, {}, "spec.tolerations: Forbidden: existing toleration can not be"),
        ({}, {"terminationGracePeriodSeconds": 4}, "spec: Forbidden: pod updates may not change fields other than"),
    ],
)
def test_of_a_pod_that_exists_little_changes(before: Manifest, after: Manifest, said: str) -> None:
    containers = {"containers": [{"name": "a", "image": "a"}]}
    old: Manifest = {"spec": {**copy.deepcopy(containers), **before}}
    kind_of("Pod").default(old)
    (found,) = told(kind_of("Pod"), {"spec": {**containers, **after}}, old)
    assert found.startswith(said)


@pytest.mark.parametrize(
    ("kind", "old", "new", "field"),
    [
        ("EndpointSlice", {"addressType": "IPv4"}, {"addressType": "IPv6"}, "addressType"),
        ("IngressClass", {"spec": {"controller": "a/b"}}, {"spec": {"controller": "a/c"}}, "spec.controller"),
    ],
)
def test_what_others_have_acted_on_stays(kind: str, old: Manifest, new: Manifest, field: str) -> None:
    (found,) = told(kind_of(kind), new, old)
    assert found.startswith(f"{field}: Invalid value: ")
    assert found.endswith(": field is immutable")


@pytest.mark.parametrize(
    ("kind", "manifest", "path"),
    [
        ("EndpointSlice", {"ports": [{"port": 8}]}, ("ports",)),
        ("Endpoints", {"subsets": [{"ports": [{"port": 8}]}]}, ("subsets", 0, "ports")),
        ("NetworkPolicy", {"spec": {"ingress": [{"ports": [{"port": 8}]}]}}, ("spec", "ingress", 0, "ports")),
    ],
)
def test_ports_are_of_tcp_unless_they_say_otherwise(kind: str, manifest: Manifest, path: tuple[Any, ...]) -> None:
    kind_of(kind).default(manifest)
    found: Any = manifest
    for step in path:
        found = found[step]
    assert found[0]["protocol"] == "TCP"


def test_the_rest_of_how_fast_to_scale_is_written_out() -> None:
    manifest = autoscaler(behavior={"scaleDown": {"selectPolicy": "Disabled"}})
    kind_of("HorizontalPodAutoscaler").default(manifest)
    twice = {"type": "Percent", "value": 100, "periodSeconds": 15}
    assert manifest["spec"]["behavior"] == {
        "scaleDown": {"selectPolicy": "Disabled", "policies": [twice]},
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, twice],
        },
    }


def test_a_priority_is_written_even_when_it_is_none() -> None:
    async def story(world: ApiWorld) -> None:
        created = await world.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "a"}})
        assert created.body["value"] == 0

    tell(story)


def test_a_claim_and_a_class_stay_what_they_are() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"}
    told_of_claim = told(kind_of("PersistentVolumeClaim"), {"spec": {**spec, "volumeMode": "Block"}}, {"spec": spec})
    assert told_of_claim[0].startswith("spec: Forbidden: spec is immutable after creation except resources.requests")
    grown = {**spec, "resources": {"requests": {"storage": "2Gi"}}}
    assert told(kind_of("PersistentVolumeClaim"), {"spec": grown}, {"spec": spec}) != []
    bound = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    assert told(kind_of("PersistentVolumeClaim"), {"spec": grown}, {"spec": spec, "status": bound}) == []
    assert told(kind_of("PersistentVolumeClaim"), {"spec": spec}, {"spec": grown, "status": bound}) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]
    old = {"value": 5, "preemptionPolicy": "Never"}
    changed = told(kind_of("PriorityClass"), {"value": 6}, old)
    assert [text.partition(":")[0] for text in changed] == ["value", "preemptionPolicy"]


def test_some_namespaces_stay_and_their_finalizers_are_not_for_everybody() -> None:
    async def story(world: ApiWorld) -> None:
        for name in ("default", "kube-system", "kube-public"):
            await world.create("/api/v1/namespaces", {"metadata": {"name": name}})
            refused = await world.delete(f"/api/v1/namespaces/{name}")
            said = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
            assert (refused.code, refused.body["message"]) == (403, said)
        patched = await world.patch("/api/v1/namespaces/default", {"spec": {"finalizers": []}})
        assert patched.body["spec"]["finalizers"] == ["kubernetes"]
        refused = await world.patch("/api/v1/namespaces/default/status", {"status": {"phase": "X"}})
        assert "may only be 'Active' if `deletionTimestamp` is empty" in refused.body["message"]

    tell(story)


def test_a_job_has_the_labels_of_its_pods() -> None:
    async def story(world: ApiWorld) -> None:
        pods = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        job = {"metadata": {"name": "a"}, "spec": {"template": {"spec": pods}}}
        made = (await world.create("/apis/batch/v1/namespaces/default/jobs", job)).body
        assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]
        assert made["metadata"]["labels"]["job-name"] == "a"

    tell(story)
