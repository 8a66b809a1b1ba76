"""Contents of an API server: every object that can be listed there, by what it is called, whatever its kind."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kubeapi.codec import decode_any
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
PASSING = frozenset({"ComponentStatus", "Event", "Lease"})
"""Kinds that tell of a moment, and whose objects go by themselves."""


class Key(NamedTuple):
    kind: str
    namespace: str
    name: str


def key_of(manifest: Manifest) -> Key:
    metadata = manifest["metadata"]
    return Key(manifest["kind"], metadata.get("namespace", ""), metadata["name"])


Contents = Mapping[Key, Manifest]


async def resources_of(client: Client) -> dict[tuple[str, str], Resource[Manifest]]:
    """Resources that are served, by apiVersion and kind; the preferred version of each group comes first."""
    found = dict[tuple[str, str], Resource[Manifest]]()
    for path in ("/api", "/apis"):
        answer = await client.raw("GET", path, accept=DISCOVERY)
        for group in decode_any(answer.body)["items"]:
            for version in group["versions"]:
                name = group["metadata"].get("name", "")
                api_version = f"{name}/{version['version']}" if name else version["version"]
                for each in version["resources"]:
                    if "list" in each["verbs"]:
                        kind, namespaced = each["responseKind"]["kind"], each["scope"] == "Namespaced"
                        made = Resource.of_manifests(api_version, each["resource"], kind, namespaced)
                        found[api_version, kind] = made
    return found


async def contents_of(client: Client) -> dict[Key, Manifest]:
    """Every object; those of a kind with several versions in the preferred one."""
    found, seen = dict[Key, Manifest](), set[tuple[str, str]]()
    for resource in (await resources_of(client)).values():
        group = resource.group if resource.group != "events.k8s.io" else ""
        if (group, resource.plural) in seen or resource.kind in PASSING:
            continue
        seen.add((group, resource.plural))
        for item in (await client.list(resource)).items:
            found[key_of(item)] = item
    return found


def uids(contents: Contents) -> dict[Key, str]:
    return {key: found["metadata"]["uid"] for key, found in contents.items()}


def names_of_pod(pod: Manifest) -> set[Key]:
    """Objects that a Pod cannot do without: account, claims, and the ConfigMaps and Secrets that are not optional."""
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    named = [("ServiceAccount", {"name": spec.get("serviceAccountName", "default")})]
    containers: list[Any] = [*spec.get("initContainers", []), *spec["containers"]]
    for container in containers:
        for source in container.get("envFrom", []):
            named += [("ConfigMap", source.get("configMapRef")), ("Secret", source.get("secretRef"))]
        for variable in container.get("env", []):
            origin = variable.get("valueFrom", {})
            named += [("ConfigMap", origin.get("configMapKeyRef")), ("Secret", origin.get("secretKeyRef"))]
    for volume in spec.get("volumes", []):
        for source in (volume, *volume.get("projected", {}).get("sources", [])):
            named += [("ConfigMap", source.get("configMap"))]
            secret = source.get("secret")
            named += [("Secret", secret and {**secret, "name": secret.get("secretName", secret.get("name"))})]
        claim = volume.get("persistentVolumeClaim")
        named += [("PersistentVolumeClaim", claim and {"name": claim["claimName"]})]
    return {Key(kind, namespace, each["name"]) for kind, each in named if each and not each.get("optional")}
