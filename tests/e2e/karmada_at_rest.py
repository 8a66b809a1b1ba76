"""A fleet that looks as Karmada leaves it when it is stopped: the Clusters are kept by an API server of their own,
behind an APIService, Karmada's definitions are its own, and webhooks that nobody answers are left behind."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import yaml

from kubeapi.meta import Manifest
from kubeclient import Client
from kubeclient.connection import transport_of
from kubeclient.kubeconfig import load
from leeward.api.resource import CLUSTERS, OUTAGES
from leeward.api.schema import CUSTOM_KINDS, custom_resource_definitions
from leeward.app.migration.cluster_storage import write_all
from leeward.app.migration.kinds import CLUSTER_MANIFESTS, CLUSTERS_SERVICE
from leeward.app.migration.record import ClusterRecord, KeptObject, SwitchRecord, write_cluster, write_record
from leeward.operations.bindings import list_manifests
from tests.e2e.answers import ask
from tests.e2e.fleet import Fleet
from tests.e2e.program import Program
from tests.migration.recorded import recorded_webhooks
from tests.ports import free_port

T = TypeVar("T")

SERVICE, NAMESPACE = "karmada-aggregated-apiserver", "karmada-system"
TOKEN = "aggregated"
KARMADAS = "controller-gen.kubebuilder.io/version=v0.20.0"


class AggregatedApiServer:
    """Keeps the Clusters; the kube-apiserver asks it as its front proxy, which it knows by the certificate."""

    def __init__(self, fleet: Fleet) -> None:
        self.port = free_port()
        directory = fleet.directory / "aggregated"
        directory.mkdir(exist_ok=True)
        tokens = directory / "tokens.csv"
        tokens.write_text(f'{TOKEN},admin,1,"system:masters"\n')
        options = ("--data-dir", str(directory), "--secure-port", str(self.port), "--token-auth-file", str(tokens))
        authority = ("--client-ca-file", str(fleet.control_plane.authority))
        command = [sys.executable, "-m", "kubeserver", *options, *authority]
        self.program = Program("aggregated", command, fleet.directory / "aggregated.log")
        self.kubeconfig = directory / "kubeconfig"
        self.kubeconfig.write_text(yaml.safe_dump(self._kubeconfig()))

    @property
    def api_service(self) -> Manifest:
        service = {"namespace": NAMESPACE, "name": SERVICE, "port": self.port}
        return {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": CLUSTERS_SERVICE, "labels": {"app": SERVICE}},
            "spec": {
                "group": CLUSTERS.group,
                "version": CLUSTERS.version,
                "service": service,
                "insecureSkipTLSVerify": True,
                "groupPriorityMinimum": 2000,
                "versionPriority": 10,
            },
        }

    def start(self, fleet: Fleet) -> None:
        """Returns when it knows the kind."""
        self.program.start()
        url = f"https://127.0.0.1:{self.port}/readyz"
        fleet.eventually(lambda: ask(url).code == 200, "the aggregated API server answers")
        [definition] = [d for d in custom_resource_definitions() if d["metadata"]["name"] == CLUSTERS.group_resource]
        arguments = ("--kubeconfig", str(self.kubeconfig), "--context", "it")
        fleet.kubectl(*arguments, "apply", "-f", "-", stdin=json.dumps(definition))
        self.clusters()

    def clusters(self) -> list[Manifest]:
        return on(self.kubeconfig, lambda client: list_manifests(client, CLUSTER_MANIFESTS))

    def _kubeconfig(self) -> Manifest:
        cluster = {"server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "admin"}}],
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
        }


def make_karmada(fleet: Fleet, aggregated: AggregatedApiServer) -> None:
    """Makes it by the way back of a switch that never was: its record is written here."""
    fleet.serve.stop()
    aggregated.start(fleet)
    clusters = on(fleet.control_plane.kubeconfig, lambda client: list_manifests(client, CLUSTER_MANIFESTS))
    on(aggregated.kubeconfig, lambda client: write_all(client, clusters, with_marks=False))
    for manifest in clusters:
        own_secrets(fleet, manifest)
    fleet.webhook.stop()
    external = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": aggregated.port}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE, "namespace": NAMESPACE}}
    fleet.kubectl("apply", "-f", "-", stdin=json.dumps({**service, "spec": external}))
    definitions = [kind.resource.group_resource for kind in CUSTOM_KINDS if kind.resource not in (CLUSTERS, OUTAGES)]
    fleet.kubectl("annotate", "customresourcedefinitions", *definitions, KARMADAS)
    on(fleet.control_plane.kubeconfig, lambda client: _write_records(client, aggregated, definitions))
    fleet.leeward("hand-back", "--yes")


def own_secrets(fleet: Fleet, cluster: Manifest) -> None:
    """Makes the cluster own its Secrets, as Karmada does: what a control plane knows of a cluster goes with it."""
    name, uid = cluster["metadata"]["name"], cluster["metadata"]["uid"]
    owner = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "name": name, "uid": uid, "controller": True}
    patch = json.dumps({"metadata": {"ownerReferences": [{**owner, "blockOwnerDeletion": True}]}})
    for secret in (name, f"{name}-impersonator"):
        fleet.kubectl("patch", "secret", secret, "-n", "karmada-cluster", "--type=merge", "-p", patch)


async def _write_records(client: Client, aggregated: AggregatedApiServer, definitions: list[str]) -> None:
    before = await asyncio.to_thread(aggregated.clusters)
    for manifest in before:
        await write_cluster(client, ClusterRecord(manifest["metadata"]["name"], before=manifest))
    webhooks = [KeptObject(e.manifest["apiVersion"], e.plural, e.manifest) for e in recorded_webhooks()]
    now = datetime.now(UTC)
    record = SwitchRecord(
        started_at=now,
        clusters_service=aggregated.api_service,
        webhooks=tuple(webhooks),
        definitions=tuple(definitions),
        clusters=tuple(manifest["metadata"]["name"] for manifest in before),
        adopted_at=now,
    )
    await write_record(client, record)


def on(kubeconfig: Path, work: Callable[[Client], Awaitable[T]]) -> T:
    """Result of `work` with a client of the API server that a kubeconfig names."""

    async def run() -> T:
        client = Client(transport_of(load((kubeconfig,), "")))
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(run())
