"""The agent certificate controller: approves what agents ask for their own names, so that somebody may sign it.

A bootstrap token makes the agent of one cluster that is not there yet, nor its Secrets, which may be the credentials of
another; which one is written on the token's Secret
before the request is approved, with the resourceVersion that was read, so that of two requests one is. What a token is
not for is denied, and says so. Until its cluster has joined, an agent has a role that goes with the request. While it
is not known what a token was used for, its request waits, with an event, and is looked at again. What anybody else asks
for waits for a person. The embedded API server approves by itself, and leaves nothing to do.

Karmada: pkg/controllers/certificate/approver (`agentcsrapproving`); the same conditions, with fewer approvals.
"""

from datetime import datetime, timedelta
from typing import TypeVar

from kubeapi.core import SECRETS, Secret
from kubeapi.meta import Manifest, format_time
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, NotFound
from leeward.api.names import CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.controllers.agents.agent_roles import (
    JOINING_SUFFIX,
    end_approved_agent,
    roles_of_agent,
    rules_before_joining,
)
from leeward.core import registration
from leeward.core.registration import CertificateRequest, Ruling, Verdict
from leeward.runtime.certificate_requests import REQUESTS, undecided_request
from leeward.runtime.controller_context import ControlPlane

T = TypeVar("T")

COMPONENT = "agent-certificate-controller"
LOOK_AGAIN = timedelta(minutes=1)
"""Pause before another look at a request whose token is unknown."""


class AgentCertificateController:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._recorder = plane.recorder(COMPONENT)
        self._requests = plane.informers.of(REQUESTS)
        self._controller = plane.controller(COMPONENT, self.reconcile, workers=2)

    def start(self) -> None:
        self._requests.on_change(self._request_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        await self._requests.wait_synced()
        manifest = self._requests.get(name)
        request = None if manifest is None else undecided_request(manifest)
        if manifest is None or request is None or not request.cluster:
            return None
        secret = await self._secret_of(request)
        cluster = await self._find(CLUSTERS, request.cluster)
        joined = () if cluster is None else (request.cluster,)
        use = None if secret is None else registration.use_of(secret.metadata.annotations)
        there = await self._secrets_of_cluster(request.cluster)
        ruling = registration.rule_on_request(request, joined, use, there)
        if ruling.verdict is Verdict.WAITS:
            return self._wait(manifest, ruling)
        if ruling.verdict is Verdict.APPROVED and secret is not None:
            await self._claim(request, secret)
            await self._let_join(request.cluster, manifest)
            if await self._secrets_of_cluster(request.cluster) != there:
                await end_approved_agent(self._plane.client, request.cluster)
                return self._plane.clock.now()
        await self._rule(manifest, ruling)
        return None

    def _wait(self, manifest: Manifest, ruling: Ruling) -> datetime | None:
        """Says why, where there is something to say; then the request is looked at again."""
        if not ruling.reason:
            return None
        self._recorder.warning(REQUESTS, manifest, ruling.reason, ruling.message)
        return self._plane.clock.now() + LOOK_AGAIN

    async def _rule(self, manifest: Manifest, ruling: Ruling) -> None:
        condition = {
            "type": ruling.verdict.value,
            "status": "True",
            "reason": ruling.reason,
            "message": ruling.message,
            "lastUpdateTime": format_time(self._plane.clock.now()),
        }
        await self._plane.client.patch(
            REQUESTS,
            manifest["metadata"]["name"],
            {"status": {"conditions": [condition]}},
            subresource="approval",
            resource_version=manifest["metadata"]["resourceVersion"],
        )

    async def _secret_of(self, request: CertificateRequest) -> Secret | None:
        """Secret of the bootstrap token that it was made with; None where there is none. Raises: WorldError."""
        if not request.token_id:
            return None
        return await self._find(SECRETS, registration.TOKEN_PREFIX + request.token_id, registration.TOKEN_NAMESPACE)

    async def _secrets_of_cluster(self, cluster: str) -> list[str]:
        """Secrets that the cluster's agent would make, and that are there already. Raises: WorldError."""
        names = registration.secrets_of_agent(cluster)
        return [name for name in names if await self._find(SECRETS, name, CLUSTER_NAMESPACE) is not None]

    async def _find(self, resource: Resource[T], name: str, namespace: str = "") -> T | None:
        """None where there is none now, whatever a cache says. Raises: WorldError."""
        return await self._plane.client.find(resource, name, namespace)

    async def _claim(self, request: CertificateRequest, secret: Secret) -> None:
        """Writes down what the token is used for. Raises: Conflict where another request was faster; WorldError."""
        if registration.use_of(secret.metadata.annotations) != (request.cluster, request.uid):
            await self._plane.client.patch(
                SECRETS,
                secret.metadata.name,
                {"metadata": {"annotations": registration.annotations_of_use(request)}},
                registration.TOKEN_NAMESPACE,
                resource_version=secret.metadata.resource_version,
            )

    async def _let_join(self, cluster: str, request: Manifest) -> None:
        """Grants what an agent needs before its Cluster is there, where its namespace is. Raises: WorldError."""
        if any([await self._find(CLUSTERS, other) for other in registration.namesakes_of_secrets(cluster)]):
            return
        metadata = request["metadata"]
        owner = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind}
        owner |= {"name": metadata["name"], "uid": metadata["uid"]}
        rules = rules_before_joining(cluster)
        for resource, manifest in roles_of_agent(cluster, owner, CLUSTER_NAMESPACE, rules, JOINING_SUFFIX):
            try:
                await self._plane.client.create(resource, manifest, CLUSTER_NAMESPACE)
            except (AlreadyExists, NotFound):
                continue

    def _request_changed(self, _: Manifest | None, new: Manifest | None) -> None:
        if new is not None and undecided_request(new) is not None:
            self._controller.queue.add(new["metadata"]["name"])
