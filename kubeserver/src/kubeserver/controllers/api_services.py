"""The APIServices of this server: one for each group version that it serves.

Those of the built-in groups are there from the start; whoever deletes one gets it back with the next start. Those of
definitions come and go with them, and come back at once.

Kubernetes: kube-aggregator, pkg/controllers/autoregister; the same labels, priorities and conditions.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing

import msgspec

from kubeapi import codec
from kubeapi.loop import Clock
from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeserver.apiextensions.definitions import PREFIX as DEFINITIONS
from kubeserver.controllers.bootstrap import SERVER
from kubeserver.controllers.changes import changes
from kubeserver.controllers.definitions import delete_quietly
from kubeserver.errors import Refused
from kubeserver.kinds.api_services import GROUP, NOT_PASSED_ON, name_of
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.registry.deleting import Deleter
from kubeserver.registry.hooks import NoHook
from kubeserver.registry.writing import Writer
from kubeserver.store import Record, Store, StoreFailed
from kubeserver.values import entries, section
from kubeserver.warnings import warn

log = logging.getLogger(__name__)

API_SERVICES = f"/{GROUP}/apiservices/"
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
RETRY_SECONDS = 1.0
WRITTEN_AT_ONCE = 500
_ONCE, _ALWAYS = "onstart", "true"
_OF_DEFINITIONS = (1_000, 100)
_PRIORITIES: Mapping[str, tuple[int, int]] = {
    "": (18_000, 1),
    "apiregistration.k8s.io": (18_000, 1),
    "apps": (17_800, 15),
    "events.k8s.io": (17_750, 15),
    "authentication.k8s.io": (17_700, 15),
    "authorization.k8s.io": (17_600, 15),
    "autoscaling": (17_500, 15),
    "batch": (17_400, 15),
    "certificates.k8s.io": (17_300, 15),
    "networking.k8s.io": (17_200, 15),
    "policy": (17_100, 15),
    "rbac.authorization.k8s.io": (17_000, 15),
    "storage.k8s.io": (16_800, 15),
    "apiextensions.k8s.io": (16_700, 15),
    "admissionregistration.k8s.io": (16_700, 15),
    "scheduling.k8s.io": (16_600, 15),
    "coordination.k8s.io": (16_500, 15),
    "node.k8s.io": (16_300, 15),
    "discovery.k8s.io": (16_200, 15),
    "flowcontrol.apiserver.k8s.io": (16_100, 21),
    "resource.k8s.io": (15_900, 15),
}
"""Priorities of each built-in group: where it stands among the groups, and its first version among its versions."""
_LATER_VERSIONS = {("autoscaling", "v2"): 30}


class LocalApiServices(NoHook):
    """The hook of APIServices: one of this server itself is always available, one of another never."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def before_write(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        stored, is_elsewhere = section(old or {}, "status"), bool(section(new["spec"], "service"))
        since = format_time(self._clock.now())
        if is_elsewhere and old is None:
            warn(NOT_PASSED_ON)
        is_told = entries(stored, "conditions") and bool(section((old or {})["spec"], "service")) == is_elsewhere
        new["status"] = stored if is_told else {"conditions": [_condition(since, is_elsewhere)]}


class _Version(msgspec.Struct, gc=False, frozen=True):
    name: str
    served: bool = False


class _Spec(msgspec.Struct, gc=False, frozen=True):
    group: str
    versions: tuple[_Version, ...] = ()


class _Definition(msgspec.Struct, gc=False, frozen=True):
    spec: _Spec


GroupVersion = tuple[str, str]


class ApiServiceKeeper:
    """Writes the APIServices of what is served. They never decide what is served."""

    def __init__(self, writer: Writer, deleter: Deleter, scheme: Scheme, kind: Kind) -> None:
        self._writer = writer
        self._deleter = deleter
        self._scheme = scheme
        self._kind = kind
        self._defined: dict[str, frozenset[GroupVersion]] = {}

    @property
    def _store(self) -> Store:
        return self._writer.store

    async def settle(self) -> None:
        """Brings all of them to what is true now. Raises: Refused, StoreFailed."""
        groups = [group for group in ("", *self._scheme.groups()) if self._scheme.is_builtin_group(group)]
        builtin = [(group, version) for group in groups for version in self._scheme.versions_of_group(group)]
        await self._keep_all(_ONCE, builtin)
        self._defined = {record.key: self._served_by(record) for record in self._store.list(DEFINITIONS).records}
        await self._settle_defined()

    async def follow_definitions(self) -> None:
        """Goes on until it is cancelled."""
        async with aclosing(changes(self._store, DEFINITIONS)) as records:
            async for record in records:
                served = frozenset[GroupVersion]() if record.deleted else self._served_by(record)
                if served != self._defined.get(record.key, frozenset()):
                    self._defined[record.key] = served
                    await self._try_to_settle()

    async def follow_deletions(self) -> None:
        """Goes on until it is cancelled."""
        async with aclosing(changes(self._store, API_SERVICES)) as records:
            async for record in records:
                if record.deleted:
                    await self._try_to_settle()

    async def _try_to_settle(self) -> None:
        try:
            await self._settle_defined()
        except (Refused, StoreFailed) as error:
            log.warning("API services: %s", error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _settle_defined(self) -> None:
        wanted = sorted(frozenset[GroupVersion]().union(*self._defined.values()))
        await self._keep_all(_ALWAYS, wanted)
        names = {name_of(group, version) for group, version in wanted}
        for record in self._store.list(API_SERVICES).records:
            metadata = codec.decode_manifest(record.value)["metadata"]
            if section(metadata, "labels").get(MANAGED) == _ALWAYS and metadata["name"] not in names:
                await delete_quietly(self._deleter, self._kind, metadata)

    def _served_by(self, record: Record) -> frozenset[GroupVersion]:
        """The group versions that a definition serves in a group of its own."""
        spec = codec.decode(record.value, _Definition).spec
        if self._scheme.is_builtin_group(spec.group):
            return frozenset()
        return frozenset((spec.group, version.name) for version in spec.versions if version.served)

    async def _keep_all(self, managed: str, wanted: Sequence[GroupVersion]) -> None:
        """Writes many of those that are missing in one commit."""
        for start in range(0, len(wanted), WRITTEN_AT_ONCE):
            at_once = wanted[start : start + WRITTEN_AT_ONCE]
            await asyncio.gather(*(self._keep(group, version, managed) for group, version in at_once))

    async def _keep(self, group: str, version: str, managed: str) -> None:
        name = name_of(group, version)
        if self._store.head(self._kind.key("", name)) is not None:
            return
        try:
            await self._writer.create(self._kind, "", self._rendered(group, version, managed), SERVER, dry_run=False)
        except Refused as refusal:
            if refusal.status.code != 409:
                raise

    def _rendered(self, group: str, version: str, managed: str) -> Manifest:
        place, priority = _PRIORITIES[group] if managed == _ONCE else _OF_DEFINITIONS
        priority = _LATER_VERSIONS.get((group, version), priority)
        priorities = {"groupPriorityMinimum": place, "versionPriority": priority}
        return {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            "metadata": {"name": name_of(group, version), "labels": {MANAGED: managed}},
            "spec": {**({"group": group} if group else {}), "version": version, **priorities},
        }


def _condition(since: str, is_elsewhere: bool) -> Manifest:
    return {
        "type": "Available",
        "status": "False" if is_elsewhere else "True",
        "lastTransitionTime": since,
        "reason": "NotPassedOn" if is_elsewhere else "Local",
        "message": NOT_PASSED_ON if is_elsewhere else "Local APIServices are always available",
    }
