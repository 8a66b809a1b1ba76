"""Rendering of Works: of a Deployment for each of some clusters, with ten override policies beside without any.

What is measured is what the binding controller computes for each Work: its manifest, whether that differs from the Work
that is there, and the bytes that it writes. The two take turns in the same run. CPU times of this process.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from kubeapi import codec
from kubeapi.codec import from_wire, to_wire
from kubeapi.meta import Manifest
from leeward.api.cluster import Cluster
from leeward.api.override import OverridePolicy
from leeward.api.work import ResourceBinding, Work
from leeward.core.execution.works import build_works, manifests_by_cluster
from leeward.core.overrides.applicable import rules_for
from leeward.core.overrides.rendering import Overridden, completed
from leeward.planning.rendered_overrides import RenderedOverrides
from leeward.runtime.override_index import OverrideIndex

CLUSTERS, POLICIES, ROUNDS = 10, 10, 200
GOAL_RATIO = 2.0
LABELS = {"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop"}


def run() -> None:
    print(f"{'one Work':<46}{'without':>12}{f'{POLICIES} policies':>14}{'ratio':>8}{'goal':>8}")
    _compare("the same number of replicas in all clusters", [2] * CLUSTERS)
    _compare("another number of replicas in each", list(range(CLUSTERS)))


def _compare(title: str, replicas: Sequence[int]) -> None:
    bound, made = binding(replicas), template()
    members = {target.name: member(target.name) for target in bound.spec.clusters}
    index = OverrideIndex[OverridePolicy]()
    for number in range(POLICIES):
        index.put(policy(number))

    def without() -> Mapping[str, Manifest]:
        return build_works(bound, made)

    def overridden() -> Mapping[str, Manifest]:
        selected, known = completed(index.search(made)), RenderedOverrides()
        rendered: dict[str, Overridden] = {}
        for cluster, manifest in manifests_by_cluster(bound, made).items():
            steps = known.override(Overridden(manifest), rules_for(members[cluster], selected))
            result = completed(steps)
            assert isinstance(result, Overridden), result
            rendered[cluster] = result
        return build_works(bound, made, rendered=rendered)

    (written, *_) = overridden().values()
    (manifest,) = written["spec"]["workload"]["manifests"]
    assert manifest["spec"]["template"]["spec"]["priorityClassName"] == "high"
    seconds = {without: 0.0, overridden: 0.0}
    present = {render: {name: from_wire(work, Work) for name, work in render().items()} for render in seconds}
    for _ in range(ROUNDS):
        for render in seconds:
            seconds[render] += _seconds(render, present[render])
    plain, ours = (seconds[render] / ROUNDS / CLUSTERS * 1e6 for render in (without, overridden))
    print(f"{title:<46}{plain:>9.0f} us{ours:>11.0f} us{ours / plain:>8.2f}{GOAL_RATIO:>8g}")


def _seconds(render: Callable[[], Mapping[str, Manifest]], present: Mapping[str, Work]) -> float:
    started = time.process_time()
    for cluster, work in render().items():
        there = to_wire(present[cluster])
        assert there["spec"]["workload"] == work["spec"]["workload"]
        codec.encode(work)
    return time.process_time() - started


def member(name: str) -> Cluster:
    return from_wire({"metadata": {"name": name, "labels": {"env": "test"}}, "spec": {"syncMode": "Push"}}, Cluster)


def policy(number: int) -> OverridePolicy:
    """Each of the kinds that people write: a registry, a tag, an argument, a label, a field."""
    kinds = (
        {"imageOverrider": [{"component": "Registry", "operator": "replace", "value": "mirror.example.com"}]},
        {"imageOverrider": [{"component": "Tag", "operator": "replace", "value": f"v{number}"}]},
        {"argsOverrider": [{"containerName": "c0", "operator": "add", "value": [f"--number={number}"]}]},
        {"labelsOverrider": [{"operator": "add", "value": {f"label-{number}": "x"}}]},
        {"plaintext": [{"path": "/spec/template/spec/priorityClassName", "operator": "add", "value": "high"}]},
    )
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": {"matchLabels": LABELS}}]
    target = {"labelSelector": {"matchLabels": {"env": "test"}}}
    rules = [{"targetCluster": target, "overriders": kinds[number % len(kinds)]}]
    metadata = {"name": f"p{number}", "namespace": "default"}
    return from_wire(
        {"metadata": metadata, "spec": {"resourceSelectors": selectors, "overrideRules": rules}}, OverridePolicy
    )


def binding(replicas: Sequence[int]) -> ResourceBinding:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web", "uid": "u"}
    targets = [{"name": f"member{number}", "replicas": count} for number, count in enumerate(replicas)]
    spec = {"resource": resource, "replicas": sum(replicas), "clusters": targets}
    return from_wire({"metadata": {"name": "web-deployment", "namespace": "default"}, "spec": spec}, ResourceBinding)


def template() -> Manifest:
    """Template as a chart makes it: three containers with environment, probes and volumes."""
    containers = [
        {
            "name": f"c{number}",
            "image": f"registry.example.com/shop/part-{number}:1.0",
            "args": ["--port=80"],
            "env": [{"name": f"NAME_{n}", "value": f"value {n}"} for n in range(12)],
            "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
            "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
            "volumeMounts": [{"name": "settings", "mountPath": "/etc/settings"}],
        }
        for number in range(3)
    ]
    volumes = [{"name": "settings", "configMap": {"name": "settings"}}]
    metadata = {"name": "web", "namespace": "default", "uid": "u", "generation": 3, "labels": LABELS}
    pod = {"metadata": {"labels": LABELS}, "spec": {"containers": containers, "volumes": volumes}}
    spec = {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": pod}
    return to_wire({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
