"""The volume binder: claims get volumes, and volumes say whose they are.

Also the provisioner of the cluster's own StorageClass `standard`, which is there from the start and made anew by a
restart. Deletes no volume but those that it has made, and those only when their claim is known to be gone.
"""

from contextlib import suppress
from datetime import datetime

from controller_runtime import Key, key_of
from kubeapi.meta import Manifest
from kubeapi.unstructured import mapping_at, text_at
from kubeclient import AlreadyExists
from kubecluster.kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from kubecluster.platform import Platform
from kubecluster.rules.pods import is_leaving
from kubecluster.rules.volume_binding import (
    BIND_COMPLETED,
    DEFAULT_CLASS,
    ClaimStep,
    bound_claim_status,
    claim_reference,
    class_name,
    decide_claim,
    default_storage_class,
    is_bound,
    is_claimed_by,
    is_reclaimed,
    render_volume,
    volume_phase,
)

COMPONENT = "persistentvolume-controller"


class VolumeBinder:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._claims = platform.informer(CLAIMS)
        self._volumes = platform.informer(VOLUMES)
        self._classes = platform.informer(STORAGE_CLASSES)
        self._claim_controller = platform.controller("claims", self.reconcile_claim)
        self._volume_controller = platform.controller("volumes", self.reconcile_volume)

    async def register(self) -> None:
        """Returns when there is a StorageClass for claims that name none."""
        if self._classes.get(DEFAULT_CLASS) is None:
            await self._platform.create(STORAGE_CLASSES, default_storage_class())

    def start(self) -> None:
        self._platform.follow(CLAIMS, self._claim_controller.queue)
        self._platform.follow(VOLUMES, self._volume_controller.queue)
        self._claims.on_change(self._claim_changed)
        self._volumes.on_change(self._volume_changed)
        self._classes.on_change(lambda old, new: self._look_at_unbound())
        self._claim_controller.start(self._platform.supervisor)
        self._volume_controller.start(self._platform.supervisor)

    async def reconcile_claim(self, key: Key) -> datetime | None:
        claim = self._claims.get(key.name, key.namespace)
        if claim is None or is_leaving(claim):
            return None
        name = text_at(claim, "spec", "volumeName")
        volume = self._volumes.get(name) if name else await self._find_volume(claim)
        if volume is not None:
            await self._bind(claim, volume)
        elif name and BIND_COMPLETED in mapping_at(claim, "metadata", "annotations"):
            await self._report_lost(claim)
        elif not text_at(claim, "status", "phase"):
            await self._platform.report(CLAIMS, claim, {"phase": "Pending"})
        return None

    async def reconcile_volume(self, key: Key) -> datetime | None:
        volume = self._volumes.get(key.name)
        if volume is None or is_leaving(volume):
            return None
        claim = self._claim_of(volume)
        phase = volume_phase(volume, claim)
        if phase == "Released" and is_reclaimed(volume):
            await self._platform.delete(VOLUMES, volume)
        else:
            await self._platform.report(VOLUMES, volume, {**mapping_at(volume, "status"), "phase": phase})
        return None

    async def _find_volume(self, claim: Manifest) -> Manifest | None:
        """Finds a volume that fits, or makes a new one; None, and an event, for a claim that has to wait."""
        storage_class = self._classes.get(class_name(claim))
        decision = decide_claim(claim, self._volumes.list(), storage_class)
        match decision.step:
            case ClaimStep.BIND:
                return decision.volume
            case ClaimStep.PROVISION:
                assert storage_class is not None
                return await self._provision(claim, storage_class)
            case ClaimStep.WAIT:
                self._platform.tell(COMPONENT, CLAIMS, claim, decision.reason, decision.message)
                return None

    async def _provision(self, claim: Manifest, storage_class: Manifest) -> Manifest | None:
        volume = render_volume(claim, storage_class)
        with suppress(AlreadyExists):
            await self._platform.create(VOLUMES, volume)
        return self._volumes.get(volume["metadata"]["name"])

    async def _bind(self, claim: Manifest, volume: Manifest) -> None:
        """The volume says so first, so that no two claims take the same one."""
        if mapping_at(volume, "spec", "claimRef") and not is_claimed_by(volume, claim):
            return
        if not text_at(volume, "spec", "claimRef", "uid"):
            await self._platform.patch(VOLUMES, volume, {"spec": {"claimRef": claim_reference(claim)}})
        if not text_at(claim, "spec", "volumeName") or BIND_COMPLETED not in mapping_at(
            claim, "metadata", "annotations"
        ):
            said = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": key_of(volume).name}}
            await self._platform.patch(CLAIMS, claim, said)
        key = key_of(claim)
        bound = self._claims.get(key.name, key.namespace)
        if bound is not None:
            await self._platform.report(CLAIMS, bound, bound_claim_status(bound, volume))

    async def _report_lost(self, claim: Manifest) -> None:
        if text_at(claim, "status", "phase") != "Lost":
            message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self._platform.warn(COMPONENT, CLAIMS, claim, "ClaimLost", message)
            await self._platform.report(CLAIMS, claim, {**mapping_at(claim, "status"), "phase": "Lost"})

    def _claim_of(self, volume: Manifest) -> Manifest | None:
        """The claim that the volume names; not another one of the same name."""
        reference = mapping_at(volume, "spec", "claimRef")
        claim = self._claims.get(reference.get("name", ""), reference.get("namespace", ""))
        return claim if claim is not None and is_claimed_by(volume, claim) else None

    def _claim_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        name = text_at(new or old, "spec", "volumeName")
        if name:
            self._volume_controller.queue.add(Key("", name))

    def _volume_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        reference = mapping_at(new or old, "spec", "claimRef")
        if reference:
            self._claim_controller.queue.add(Key(reference.get("namespace", ""), reference.get("name", "")))
        elif new is not None:
            self._look_at_unbound()

    def _look_at_unbound(self) -> None:
        for claim in self._claims.list():
            if not is_bound(claim):
                self._claim_controller.queue.add(key_of(claim))
