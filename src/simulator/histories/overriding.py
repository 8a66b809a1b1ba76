"""Override policies of histories, and what they make of a manifest: marks, which say who made them and for where.

Each policy marks a manifest in two places, one behind the other, so that a manifest that was overridden by half can be
told from a whole one. One that is broken has a second part that cannot be carried out.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest, labels_of
from kubeapi.resource import Resource
from simulator.histories.ground_truth import OVERRIDES, GroundTruth
from simulator.histories.manifests import CONFIG_MAPS

OVERRIDE_POLICIES = Resource.of_manifests("policy.karmada.io/v1alpha1", "overridepolicies", "OverridePolicy", True)
CLUSTER_OVERRIDE_POLICIES = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clusteroverridepolicies", "ClusterOverridePolicy", False
)
MARK = "override-"
"""Beginning of the label of a policy; its name follows."""
NOWHERE = "/spec/nowhere/nobody"
"""A path that no manifest has."""
REPLICAS = "/spec/replicas"
Marks = Mapping[str, str]


def overrides_of(wide: bool) -> Resource[Manifest]:
    return CLUSTER_OVERRIDE_POLICIES if wide else OVERRIDE_POLICIES


def override_spec(
    name: str,
    app: str,
    kind: Resource[Manifest],
    version: int,
    clusters: tuple[str, ...],
    *,
    wide: bool,
    broken: bool = False,
    replicas: int = 0,
) -> Manifest:
    """A rule for each cluster: what one is given is told from what others are."""
    selector = {"apiVersion": kind.api_version, "kind": kind.kind, "name": app}
    rules = [
        {
            "targetCluster": {"clusterNames": [cluster]},
            "overriders": _overriders(
                MARK + name, f"{'c' if wide else 'n'}{version}.{cluster}", kind is CONFIG_MAPS, broken, replicas
            ),
        }
        for cluster in clusters
    ]
    return {"resourceSelectors": [selector], "overrideRules": rules}


def _overriders(mark: str, value: str, config: bool, broken: bool, replicas: int) -> Manifest:
    """Labels come before plain text, in the order of Karmada."""
    sized = [{"path": REPLICAS, "operator": "replace", "value": replicas}] if replicas else []
    path = f"/data/{mark}" if config else f"/spec/template/metadata/labels/{mark}"
    plaintext = {"path": NOWHERE if broken else path, "operator": "replace" if broken else "add", "value": value}
    return {"labelsOverrider": [{"operator": "add", "value": {mark: value}}], "plaintext": [plaintext, *sized]}


def marks_of(manifest: ReadOnlyManifest) -> Marks:
    """Marks of what override policies have made of it, where they begin."""
    return _marks(labels_of(manifest))


def inner_marks_of(manifest: ReadOnlyManifest) -> Marks:
    """Marks of the last overriders of a policy, which stand in the contents of the object."""
    if manifest.get("kind") == "ConfigMap":
        return _marks(manifest.get("data") or {})
    return _marks(manifest.get("spec", {}).get("template", {}).get("metadata", {}).get("labels") or {})


def unmarked(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if not key.startswith(MARK)}


def effect(policy: ReadOnlyManifest, kind: str, name: str, cluster: str) -> Marks | None:
    """Marks of what a policy makes of an object's manifest in a cluster; None where it cannot be carried out there."""
    spec, marks = policy["spec"], dict[str, str]()
    if not any((each["kind"], each["name"]) == (kind, name) for each in spec["resourceSelectors"]):
        return marks
    for rule in spec["overrideRules"]:
        if cluster not in rule["targetCluster"]["clusterNames"]:
            continue
        if rule["overriders"]["plaintext"][0]["path"] == NOWHERE:
            return None
        marks |= rule["overriders"]["labelsOverrider"][0]["value"]
    return marks


def effects(truth: GroundTruth, kind: str, name: str, cluster: str) -> Iterator[Marks | None]:
    """Effects of all policies, in the order in which they are carried out."""
    for prefix in OVERRIDES:
        for _, policy in sorted(truth.of(prefix).items()):
            yield effect(policy, kind, name, cluster)


def overridden(truth: GroundTruth, kind: str, name: str, cluster: str) -> Marks:
    """Marks of what all policies make of an object in a cluster; empty where one of them cannot be carried out."""
    marks = dict[str, str]()
    for made in effects(truth, kind, name, cluster):
        if made is None:
            return {}
        marks |= made
    return marks


def resized(truth: GroundTruth, kind: str, name: str, cluster: str) -> int | None:
    """Replicas that policies give an object in a cluster, whatever it is assigned; None where none does."""
    rules = (
        rule
        for prefix in OVERRIDES
        for _, policy in sorted(truth.of(prefix).items())
        if any((each["kind"], each["name"]) == (kind, name) for each in policy["spec"]["resourceSelectors"])
        for rule in policy["spec"]["overrideRules"]
        if cluster in rule["targetCluster"]["clusterNames"]
    )
    sizes = [each["value"] for rule in rules for each in rule["overriders"]["plaintext"] if each["path"] == REPLICAS]
    return sizes[-1] if sizes else None


def _marks(labels: Mapping[str, str]) -> Marks:
    return {key: value for key, value in labels.items() if key.startswith(MARK)}
