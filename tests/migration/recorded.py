"""A Karmada at rest, as it was recorded: its control plane and its members, with every uid, as a world to take over."""

import gzip
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self
from uuid import UUID

import msgspec

from kubeapi.loop.clock import VirtualClock
from kubeapi.meta import Manifest
from kubecluster.rules.deployment import render_replica_set
from kubecluster.rules.node import node_name
from kubeserver.store.medium import Loaded
from kubeserver.store.record import Record
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.sim.world import Mode, World

RECORDING = Path(__file__).parents[1] / "data" / "migration" / "karmada-at-rest.jsonl.gz"
TAKEN_AT = datetime(2026, 11, 22, 13, 10, tzinfo=UTC)
"""Instant at which the recording was taken, to the minute: the last renewal of a Lease in it is of 13:09:48."""

CONTROL_PLANE = "karmada"
MEMBERS: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
RBAC = "rbac.authorization.k8s.io/v1"
_WEBHOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_CLUSTER_ROLES = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings"}
_MARKS = (
    "work.karmada.io/",
    "clusterresourcebinding.karmada.io/",
    "resourcetemplate.karmada.io/",
    "karmada.io/managed",
)
"""Prefixes of what the control plane puts on an object of a member beside what its template has."""


class Entry(NamedTuple):
    plural: str
    manifest: Manifest


class RecordedWorld(World):
    """Stands where the recording was taken; `__aenter__` starts API servers and members, and no controllers.

    `as_stored` changes the objects of the control plane as an older Karmada would have stored them.
    """

    def __init__(
        self,
        timing: Timing | None = None,
        manager: ManagerSettings | None = None,
        as_stored: Callable[[Entry], None] = lambda entry: None,
    ) -> None:
        super().__init__(MEMBERS, timing or Timing.karmada(), clock=VirtualClock(TAKEN_AT), manager=manager)
        control_plane = recorded(CONTROL_PLANE)
        for entry in control_plane:
            as_stored(entry)
        self.medium.become(contents_of([*control_plane, *_cluster_role_templates(control_plane)]))
        for name, member in self.members.items():
            objects = recorded(name)
            unrecorded = [*_replica_sets(objects), *_cluster_roles(control_plane, name)]
            member.medium.become(contents_of([*objects, *unrecorded]))

    async def __aenter__(self) -> Self:
        await self.start_apiserver()
        for member in self.members.values():
            await member.start_apiserver()
        self._observe()
        return self


def recorded(server: str) -> list[Entry]:
    """Objects that a server held, but for webhooks that nobody answers. Pods are on nodes of a simulated member."""
    with gzip.open(RECORDING, "rt") as lines:
        found = [json.loads(line) for line in lines]
    entries = [Entry(each["resource"], each["object"]) for each in found if each["server"] == server]
    for plural, manifest in entries:
        if plural == "pods":
            manifest["spec"]["nodeName"] = node_name(int(manifest["spec"]["nodeName"][-1]) - 1)
    return [entry for entry in entries if entry.plural not in _WEBHOOKS]


def recorded_webhooks() -> list[Entry]:
    """Karmada's webhook configurations, which `recorded` leaves out."""
    with gzip.open(RECORDING, "rt") as lines:
        found = [json.loads(line) for line in lines]
    return [Entry(each["resource"], each["object"]) for each in found if each["resource"] in _WEBHOOKS]


def contents_of(entries: Iterable[Entry]) -> Loaded:
    ordered = sorted(entries, key=lambda entry: int(entry.manifest["metadata"]["resourceVersion"]))
    return Loaded([_record(entry) for entry in ordered], 0)


def _record(entry: Entry) -> Record:
    """An object as the store keeps it: kind, apiVersion and metadata first."""
    manifest = entry.manifest
    metadata = manifest["metadata"]
    group = manifest["apiVersion"].rpartition("/")[0]
    key = f"/{group}/{entry.plural}/{metadata.get('namespace', '')}/{metadata['name']}"
    start = {field: manifest[field] for field in ("kind", "apiVersion", "metadata")}
    return Record(key, int(metadata["resourceVersion"]), msgspec.json.encode({**start, **manifest}), deleted=False)


def _cluster_roles(control_plane: Iterable[Entry], member: str) -> list[Entry]:
    """Roles that the recording leaves out of a member, as its Works say it."""
    spaces = [entry.manifest for entry in control_plane if entry.plural == "works"]
    here = [work for work in spaces if work["metadata"]["namespace"] == f"karmada-es-{member}"]
    manifests = [manifest for work in here for manifest in work["spec"]["workload"]["manifests"]]
    roles = [manifest for manifest in manifests if manifest["apiVersion"] == RBAC]
    return [_as_stored(manifest, 2_000_000 + index) for index, manifest in enumerate(roles)]


def _cluster_role_templates(control_plane: Sequence[Entry]) -> list[Entry]:
    """The templates that the recording leaves out of the control plane, as one of their Works says them."""
    bindings = [
        entry.manifest["spec"]["resource"] for entry in control_plane if entry.plural == "clusterresourcebindings"
    ]
    uids = {binding["name"]: (binding["uid"], int(binding["resourceVersion"])) for binding in bindings}
    templates: list[Entry] = []
    for plural, manifest in _cluster_roles(control_plane, "member1"):
        metadata = manifest["metadata"]
        if metadata["name"] in uids:
            uid, version = uids[metadata["name"]]
            marks = {field: _without_marks(metadata.get(field, {})) for field in ("labels", "annotations")}
            mine = {**metadata, **marks, "uid": uid, "resourceVersion": str(version)}
            templates.append(Entry(plural, {**manifest, "metadata": mine}))
    return templates


def _without_marks(marks: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in marks.items() if not key.startswith(_MARKS)}


def _as_stored(manifest: Manifest, version: int) -> Entry:
    uid = str(UUID(int=version))
    born = {"uid": uid, "resourceVersion": str(version), "creationTimestamp": "2026-11-22T13:08:38Z"}
    return Entry(_CLUSTER_ROLES[manifest["kind"]], {**manifest, "metadata": {**manifest["metadata"], **born}})


def _replica_sets(entries: Sequence[Entry]) -> list[Entry]:
    """ReplicaSets that the recording leaves out, as their Pods name them; hashes are those of a simulated member."""
    deployments = {manifest["metadata"]["name"]: manifest for plural, manifest in entries if plural == "deployments"}
    sets: dict[str, Manifest] = {}
    for plural, pod in entries:
        if plural != "pods":
            continue
        owner = pod["metadata"]["ownerReferences"][0]
        deployment = deployments[owner["name"].rpartition("-")[0]]
        rendered = render_replica_set(deployment, deployment["spec"]["replicas"], 1)
        pod["metadata"]["labels"] = rendered["metadata"]["labels"]
        sets.setdefault(owner["uid"], _replica_set(rendered, owner, pod))
    return [Entry("replicasets", replica_set) for replica_set in sets.values()]


def _replica_set(rendered: Manifest, owner: Manifest, pod: Manifest) -> Manifest:
    replicas = rendered["spec"]["replicas"]
    metadata = {
        **rendered["metadata"],
        "name": owner["name"],
        "uid": owner["uid"],
        "resourceVersion": str(1_000_000 + int(pod["metadata"]["resourceVersion"])),
        "generation": 1,
        "creationTimestamp": pod["metadata"]["creationTimestamp"],
    }
    counts = ("replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas")
    return {**rendered, "metadata": metadata, "status": {**dict.fromkeys(counts, replicas), "observedGeneration": 1}}
