"""The kubelet of all nodes: starts the Pods that are bound to them, and ends those that are deleted.

How long a stage lasts is counted from the moment at which this process saw it begin; after a restart, from the whole
second that the status tells.
Each Pod has its own address, from its start to its end.
"""

import ipaddress
from collections.abc import Container, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from controller_runtime import Index, Informer, Key, key_of
from kubeapi.meta import Manifest, ReadOnlyManifest, parse_time
from kubeapi.unstructured import text_at
from kubeclient import WorldError
from kubecluster.kinds import PODS
from kubecluster.platform import Platform
from kubecluster.pod_sources import PodSources
from kubecluster.rules.kubelet import (
    CONFIG_ERROR,
    Obstacle,
    Stage,
    asked_seconds,
    blocked_status,
    is_of_job,
    obstacles_of,
    running_status,
    stage_of,
    starting_status,
    succeeded_status,
)
from kubecluster.rules.node import host_address, is_simulated, node_name
from kubecluster.rules.pods import condition_of, is_finished, is_gone, is_leaving, node_of
from kubecluster.rules.references import environment_faults, mount_fault
from kubecluster.settings import WorkloadSettings


class Addresses:
    """Table of the addresses of Pods; addresses that the server has seen survive a restart."""

    def __init__(self, pods: Informer[Manifest]) -> None:
        self._by_uid: dict[str, str] = {}
        self._taken: set[str] = set()
        pods.on_change(self._changed)

    def lease(self, pod: ReadOnlyManifest, pod_cidr: str) -> str:
        """The Pod's address, a fresh one if it has none. Raises: AddressesExhausted."""
        uid = pod["metadata"]["uid"]
        if uid not in self._by_uid:
            address = choose_address(pod_cidr, self._taken)
            if address is None:
                raise AddressesExhausted(f"{pod_cidr}: no free address for Pod {pod['metadata']['name']}")
            self._take(uid, address)
        return self._by_uid[uid]

    def _changed(self, old: Manifest | None, new: Manifest | None) -> None:
        if old is not None and (new is None or is_gone(old, new) or is_finished(new)):
            self._taken.discard(self._by_uid.pop(old["metadata"]["uid"], ""))
        if new is not None and not is_finished(new) and (address := text_at(new, "status", "podIP")):
            self._take(new["metadata"]["uid"], address)

    def _take(self, uid: str, address: str) -> None:
        self._by_uid[uid] = address
        self._taken.add(address)


class AddressesExhausted(WorldError):
    """All addresses of a node's network belong to Pods."""


def choose_address(pod_cidr: str, taken: Container[str]) -> str | None:
    """None when the network is full. Its first address is the gateway's."""
    network = ipaddress.ip_network(pod_cidr)
    usable = (str(network[offset]) for offset in range(2, network.num_addresses - 1))
    return next((address for address in usable if address not in taken), None)


JOB_SECONDS = 1.0
"""Seconds for which a Pod of a Job runs that asks for no time."""


class KubeletController:
    def __init__(self, platform: Platform, settings: WorkloadSettings) -> None:
        self._platform = platform
        self._startup = timedelta(seconds=settings.pod_startup_seconds)
        self._expected_nodes = {node_name(index) for index in range(settings.nodes)}
        self._by_node = Index(platform.pods, node_of)
        self._addresses = Addresses(platform.pods)
        self._due: dict[str, datetime] = {}
        self._controller = platform.controller("kubelet", self.reconcile)
        self._sources = PodSources(platform, self._controller.queue.add)

    def start(self) -> None:
        self._platform.pods.on_change(self._pod_changed)
        self._platform.nodes.on_change(self._node_changed)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        pod = self._platform.pods.get(key.name, key.namespace)
        if pod is None or stage_of(pod) in (Stage.ELSEWHERE, Stage.FINISHED):
            return None
        if is_leaving(pod):
            await self._end(pod)
            return None
        node = self._platform.nodes.get(node_of(pod))
        if node is None:
            await self._collect(pod)
            return None
        return await self._advance(pod, node) if is_simulated(node) else None

    async def _advance(self, pod: Manifest, node: Manifest) -> datetime | None:
        now = self._platform.clock.now()
        match stage_of(pod):
            case Stage.BOUND:
                status = starting_status(pod, host_address(node), now)
                return await self._enter(pod, status, now + self._startup)
            case Stage.CREATING if (due := self._creating_until(pod)) > now:
                return due
            case Stage.CREATING | Stage.BLOCKED:
                return await self._run(pod, node)
            case Stage.RUNNING if is_of_job(pod):
                return await self._finish(pod, now)
            case _:
                pass
        return None

    async def _run(self, pod: Manifest, node: Manifest) -> datetime | None:
        """Creates the containers, or says why they cannot be created, and waits for their missing objects."""
        find = await self._sources.lookup(pod)
        now = self._platform.clock.now()
        if fault := mount_fault(pod, find):
            self._sources.wait(pod)
            self._platform.warn("kubelet", PODS, pod, "FailedMount", fault.message)
            return None
        if obstacles := obstacles_of(pod, environment_faults(pod, find)):
            self._sources.wait(pod)
            if stage_of(pod) is Stage.CREATING:
                self._tell(pod, obstacles.values())
            await self._report(pod, blocked_status(pod, obstacles, now))
            return None
        address = self._addresses.lease(pod, text_at(node, "spec", "podCIDR"))
        due = now + self._work_time(pod)
        return await self._enter(pod, running_status(pod, address, now), due if is_of_job(pod) else None)

    async def _finish(self, pod: Manifest, now: datetime) -> datetime | None:
        due = self._running_until(pod)
        if due > now:
            return due
        await self._report(pod, succeeded_status(pod, now))
        return None

    def _tell(self, pod: Manifest, obstacles: Iterable[Obstacle]) -> None:
        for obstacle in obstacles:
            if obstacle.reason == CONFIG_ERROR:
                self._platform.warn("kubelet", PODS, pod, "Failed", f"Error: {obstacle.message}")

    async def _enter(self, pod: Manifest, status: Mapping[str, Any], due: datetime | None) -> datetime | None:
        """Puts a Pod into a stage that lasts until `due`; None is for good."""
        if due is None:
            self._due.pop(pod["metadata"]["uid"], None)
        else:
            self._due[pod["metadata"]["uid"]] = due
        await self._report(pod, status)
        return due

    async def _report(self, pod: Manifest, status: Mapping[str, Any]) -> None:
        await self._platform.report(PODS, pod, status)

    async def _end(self, pod: Manifest) -> None:
        """Containers need no time to stop; only finalizers can hold a Pod from here on."""
        if pod["metadata"].get("deletionGracePeriodSeconds") != 0:
            await self._platform.delete(PODS, pod, grace_seconds=0)

    async def _collect(self, pod: Manifest) -> None:
        """Removes a Pod whose node is gone for good."""
        if node_of(pod) not in self._expected_nodes:
            await self._platform.delete(PODS, pod, grace_seconds=0)

    def _creating_until(self, pod: Manifest) -> datetime:
        known = self._due.get(pod["metadata"]["uid"])
        return known or parse_time(text_at(pod, "status", "startTime")) + self._startup

    def _running_until(self, pod: Manifest) -> datetime:
        known = self._due.get(pod["metadata"]["uid"])
        since = text_at(condition_of(pod, "Ready"), "lastTransitionTime")
        return known or parse_time(since) + self._work_time(pod)

    @staticmethod
    def _work_time(pod: Manifest) -> timedelta:
        """Time for which a Pod of a Job runs."""
        asked = asked_seconds(pod)
        return timedelta(seconds=JOB_SECONDS if asked is None else asked)

    def _pod_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        if old is not None and is_gone(old, new):
            self._due.pop(old["metadata"]["uid"], None)
        if new is not None:
            self._controller.queue.add(key_of(new))

    def _node_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        """A new node takes up its Pods; Pods of a node that went are collected."""
        if old is None or new is None:
            for pod in self._by_node.get(key_of(new or old).name):
                self._controller.queue.add(key_of(pod))
