"""An application in a world: applied as a user does it, and looked at in the control plane and in every member."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import NotFound, WorldError
from leeward.api.meta import find_condition
from leeward.api.names import CLUSTER_OUTAGE_CONDITION, EVICTION_HELD_CONDITION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.core.execution.addresses import selector_of_service, selects, services_behind
from leeward.sim.world import World
from tests.applications.application import Application
from tests.applications.contents import Contents, Key, contents_of, key_of, names_of_pod, resources_of

RETRIES, RETRY_SECONDS = 30, 2.0
"""A user whose `kubectl apply` meets a kind that is not served yet applies again."""
REPORTS = 3


@dataclass
class Deployed:
    world: World
    application: Application
    resources: dict[tuple[str, str], Resource[Manifest]]

    async def apply(self) -> None:
        for manifest in (*self.application.foundations, *self.application.policies, *self.application.rest):
            await self._retry(self._create, manifest)

    async def change(self) -> None:
        for patch in self.application.change:
            await self._retry(self._patch, patch)

    async def settle(self, seconds: float) -> None:
        """Waits, while the operators report now and then."""
        for _ in range(REPORTS):
            await self.world.sleep(seconds / (REPORTS + 1))
            await self.report()
        await self.world.sleep(seconds / (REPORTS + 1))

    async def report(self, ends: Sequence[Manifest] = ()) -> None:
        """Plays the operators in every member that has their resources; `ends` are reported last."""
        for report in (*self.application.reports, *ends):
            key, resource = key_of(report), self._resource(report)
            status = {"status": report["status"]}
            for member in self.world.members.values():
                for subresource in ("status", "") if member.is_up else ():
                    with suppress(NotFound):
                        await member.client.patch(resource, key.name, status, key.namespace, subresource=subresource)

    async def delete(self, *, namespaces: bool) -> None:
        """Deletes in the opposite order; the Namespaces, or everything else."""
        manifests = [*self.application.foundations, *self.application.rest, *self.application.policies]
        for manifest in reversed(manifests):
            if (manifest["kind"] == "Namespace") == namespaces:
                resource = self._resource(manifest)
                key = key_of(manifest)
                await self.world.client.delete(resource, key.name, key.namespace)

    async def bindings(self) -> dict[Key, Binding]:
        """Bindings by the templates that they are for."""
        listed: list[Binding] = [*(await self.world.client.list(RESOURCE_BINDINGS)).items]
        listed += (await self.world.client.list(CLUSTER_RESOURCE_BINDINGS)).items
        found = dict[Key, Binding]()
        for binding in listed:
            resource = binding.spec.resource
            found[Key(resource.kind, resource.namespace, resource.name)] = binding
        return found

    async def members(self, names: Iterable[str] = ()) -> dict[str, Contents]:
        """Contents that there are in these members (all that are up)."""
        wanted = list(names) or [name for name, member in self.world.members.items() if member.is_up]
        return {name: await contents_of(self.world.member(name).client) for name in wanted}

    async def _retry(self, deed: Any, manifest: Manifest) -> None:
        for attempt in range(RETRIES + 1):
            try:
                await deed(manifest)
                return
            except (WorldError, LookupError) as error:
                if attempt == RETRIES:
                    raise AssertionError(f"{key_of(manifest)}: {error}") from error
                await self.world.sleep(RETRY_SECONDS)
                self.resources = await resources_of(self.world.client)

    async def _create(self, manifest: Manifest) -> None:
        resource = self._resource(manifest)
        await self.world.client.create(resource, manifest, key_of(manifest).namespace)

    async def _patch(self, patch: Manifest) -> None:
        key = key_of(patch)
        await self.world.client.apply(self._resource(patch), patch, key.namespace, field_manager="kubectl")

    def _resource(self, manifest: Manifest) -> Resource[Manifest]:
        return self.resources[manifest["apiVersion"], manifest["kind"]]


def clusters_of(binding: Binding) -> set[str]:
    """Clusters to which its template belongs: by its own placement, and where others need it."""
    needed = {target.name for snapshot in binding.spec.required_by for target in snapshot.clusters}
    return needed | {target.name for target in binding.spec.clusters}


def held_reason(binding: Binding) -> str:
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    return condition.reason if condition is not None and condition.status == "True" else ""


def not_ready(contents: Contents) -> dict[Key, Any]:
    """The Pods that do not run, or lack what they name, with what they say."""
    wrong = dict[Key, Any]()
    for key, pod in contents.items():
        if key.kind != "Pod":
            continue
        status = pod.get("status", {})
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", []))
        lacking = names_of_pod(pod) - set(contents)
        if lacking or not (ready or status.get("phase") == "Succeeded"):
            wrong[key] = lacking or status
    return wrong


_COUNTS: Mapping[str, tuple[str, str, str]] = {
    "Deployment": ("replicas", "readyReplicas", "updatedReplicas"),
    "StatefulSet": ("replicas", "readyReplicas", "updatedReplicas"),
    "DaemonSet": ("desiredNumberScheduled", "numberReady", "updatedNumberScheduled"),
}


def clusters_led_to(template: Manifest, bindings: Mapping[Key, Binding], templates: Collection[Manifest]) -> set[str]:
    """Clusters of the workloads behind a Service or an Ingress; its own clusters where there are none."""
    own = [each for each in templates if each["metadata"].get("namespace") == template["metadata"].get("namespace")]
    names = services_behind(template) if template["kind"] == "Ingress" else [template["metadata"]["name"]]
    services = [each for each in own if each["kind"] == "Service" and each["metadata"]["name"] in names]
    found = [key_of(each) for each in own for service in services if selects(selector_of_service(service), each)]
    return {name for key in found for name in clusters_of(bindings[key])} or clusters_of(bindings[key_of(template)])


def status_problem(template: Manifest, clusters: int, *, is_unseen: bool) -> str:
    """Missing facts of a template's status, empty without any: it runs in so many clusters, or leads to so many.
    `is_unseen` tells that it also leaves a cluster that is not seen."""
    status: dict[str, Any] = template.get("status") or {}
    kind = template["kind"]
    if kind in _COUNTS:
        wanted, ready, updated = (int(status.get(each, 0)) for each in _COUNTS[kind])
        complete = 0 < ready <= wanted == updated and (ready < wanted) == is_unseen
        complete &= is_unseen == _is_true(status, CLUSTER_OUTAGE_CONDITION)
        return "" if complete and _observed(template) else f"counts {status}"
    if kind == "Job":
        complete = status.get("succeeded", 0) == clusters * template["spec"].get("completions", 1)
        return "" if complete and _is_true(status, "Complete") else f"not complete: {status}"
    if kind == "PersistentVolumeClaim":
        return "" if status.get("phase") == "Bound" else f"not bound: {status}"
    if kind == "Ingress" or (kind == "Service" and template["spec"].get("type") == "LoadBalancer"):
        return "" if len(status.get("loadBalancer", {}).get("ingress", [])) == clusters else f"addresses: {status}"
    return ""


def _observed(template: Manifest) -> bool:
    return template["status"].get("observedGeneration", 0) >= template["metadata"]["generation"]


def _is_true(status: Mapping[str, Any], kind: str) -> bool:
    return any(c["type"] == kind and c["status"] == "True" for c in status.get("conditions", []))


def is_in(part: Any, found: Any) -> bool:
    """Tells whether all that `part` says is so in `found`; entries of lists are found by their names."""
    match part, found:
        case dict(), dict():
            wanted, there = cast(Manifest, part), cast(Manifest, found)
            return all(is_in(value, there.get(key)) for key, value in wanted.items())
        case [{"name": _}, *_], list():
            entries = {entry["name"]: entry for entry in cast(list[Manifest], found)}
            return all(is_in(entry, entries.get(entry["name"])) for entry in cast(list[Manifest], part))
        case _:
            return part == found
