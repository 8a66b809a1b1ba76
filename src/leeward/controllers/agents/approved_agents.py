"""The approved agent controller: ends the role of an approved agent whose name becomes another's.

While its certificate request is kept, the agent that was approved may read the two Secrets of its name. When somebody
else writes one of them, or joins a Push member under that name, they are no business of the agent's, and the role goes.
`leeward join` has taken it away before that; `karmadactl join` does not know of it. Whether a Secret is the agent's own
says the mark that admission puts on it.

Ours; in Karmada every agent has the rights that its register gave it.
"""

from kubeapi.core import SECRETS, Secret
from kubeapi.untrusted import mapping_in
from leeward.api.cluster import Cluster
from leeward.api.names import AGENT_MADE_ANNOTATION, CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.controllers.agents.agent_roles import end_approved_agent
from leeward.core.registration import SIGNER, namesakes_of_secrets, secrets_of_agent
from leeward.runtime.certificate_requests import REQUESTS
from leeward.runtime.controller_context import ControlPlane


class ApprovedAgentController:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._clusters = plane.informers.of(CLUSTERS)
        self._secrets = plane.informers.of(SECRETS, CLUSTER_NAMESPACE)
        self._requests = plane.informers.of(REQUESTS)
        self._controller = plane.controller("approved-agent-controller", self.reconcile, workers=2)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        self._secrets.on_change(self._secret_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> None:
        for informer in (self._clusters, self._secrets, self._requests):
            await informer.wait_synced()
        if self._is_anothers(name) and self._has_requests():
            await end_approved_agent(self._plane.client, name)

    def _is_anothers(self, name: str) -> bool:
        cluster = self._clusters.get(name)
        if cluster is not None:
            return cluster.spec.sync_mode != "Pull"
        secrets = (self._secrets.get(each, CLUSTER_NAMESPACE) for each in secrets_of_agent(name))
        return any(
            secret is not None and secret.metadata.annotations.get(AGENT_MADE_ANNOTATION) != name for secret in secrets
        )

    def _has_requests(self) -> bool:
        """Tells whether an agent can have such a role: it goes with the request that it was approved by."""
        found = (self._requests.get(key.name) for key in self._requests.all_keys())
        return any(mapping_in(each or {}, "spec").get("signerName") == SIGNER for each in found)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is not None and new.spec.sync_mode != "Pull" and (old is None or old.metadata.uid != new.metadata.uid):
            self._controller.queue.add(new.name)

    def _secret_changed(self, _: Secret | None, new: Secret | None) -> None:
        if new is not None:
            for name in (new.metadata.name, *namesakes_of_secrets(new.metadata.name)):
                if new.metadata.name in secrets_of_agent(name):
                    self._controller.queue.add(name)
