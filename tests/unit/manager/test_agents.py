"""Settings of the API server for agents: how far they may go, and whose certificates are approved."""

import asyncio
import base64

import pytest
from cryptography import x509

from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeserver.handler import User
from leeward.api.schema import custom_resource_definitions
from leeward.manager.agents import AGENT_ACCESS, AgentRestriction, approve_agents
from tests.certificates import client_authority
from tests.kubeserver.api_world import ApiWorld, tell
from tests.kubeserver.test_tokens import NEWCOMER, REQUESTS, bootstrap_secret, signing_request

AGENT = User("system:karmada:agent:m1", ("system:karmada:agents", "system:authenticated"))


def test_an_agent_gets_its_certificate_with_a_bootstrap_token_and_nobody_elses() -> None:
    async def story(world: ApiWorld) -> None:
        async with Supervisor("signer") as supervisor:
            supervisor.start(world.server.certificate_signer(*client_authority(), approve_agents).run(), "signer")
            own = ("system:karmada:agent:m1", "system:karmada:agents")
            await world.create("/api/v1/namespaces/kube-system/secrets", bootstrap_secret())
            asked = await world.call("POST", REQUESTS, signing_request("own", *own), user=NEWCOMER)
            assert (asked.code, asked.body["spec"]["username"]) == (201, NEWCOMER.name)
            await world.call("POST", REQUESTS, signing_request("renewed", *own), user=AGENT)
            other = signing_request("other", "system:karmada:agent:m2", "system:karmada:agents")
            await world.call("POST", REQUESTS, other, user=AGENT)
            await world.call("POST", REQUESTS, signing_request("ops", "bob", "ops"), user=NEWCOMER)
            masked = signing_request("masked", "root", "system:karmada:agents", before=AGENT.name)
            await world.call("POST", REQUESTS, masked, user=NEWCOMER)
            masters = signing_request("masters", "bob", "system:masters")
            assert (await world.call("POST", REQUESTS, masters, user=NEWCOMER)).code == 403
            await asyncio.sleep(1)
            signed = {
                name: "certificate" in (await world.get(f"{REQUESTS}/{name}")).body.get("status", {})
                for name in ("own", "renewed", "other", "ops", "masked")
            }
            assert signed == {"own": True, "renewed": True, "other": False, "ops": False, "masked": False}
            status = (await world.get(f"{REQUESTS}/own")).body["status"]
            certificate = x509.load_pem_x509_certificate(base64.b64decode(status["certificate"]))
            assert certificate.subject.rfc4514_string() == "CN=system:karmada:agent:m1,O=system:karmada:agents"

    tell(story, admission=(AgentRestriction(),), objects=AGENT_ACCESS)


def test_an_agent_makes_nothing_under_another_name() -> None:
    async def story(world: ApiWorld) -> None:
        for namespace in ("karmada-cluster", "karmada-es-m2"):
            made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            assert (await world.create("/api/v1/namespaces", made)).code == 201
        leases = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"

        async def lease(namespace: str, name: str) -> int:
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
            return (await world.call("POST", leases.format(namespace), body, user=AGENT)).code

        assert await lease("karmada-cluster", "m1") == 201
        assert await lease("karmada-cluster", "m2") == 403
        assert await lease("default", "m1") == 403
        assert (await world.call("GET", leases.format("karmada-cluster") + "/m1", user=AGENT)).code == 403
        assert (await world.call("GET", "/api/v1/secrets", user=AGENT)).code == 403
        works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m2/works"
        assert (await world.call("GET", works, user=AGENT)).code == 403

    tell(story, admission=(AgentRestriction(),), objects=AGENT_ACCESS)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"syncMode": "Pull"}, ""),
        ({"syncMode": "Pull", "secretRef": {"namespace": "karmada-es-m1", "name": "own"}}, ""),
        ({"syncMode": "Push"}, "spec.syncMode: the agent of cluster"),
        ({"syncMode": "Pull", "secretRef": {"namespace": "karmada-cluster", "name": "m2"}}, "spec.secretRef: must be"),
        (
            {"syncMode": "Pull", "impersonatorSecretRef": {"namespace": "kube-system", "name": "x"}},
            "spec.impersonatorSecretRef: must be a Secret in the namespace karmada-es-m1",
        ),
    ],
)
def test_an_agent_has_no_secrets_of_others_shown_to_its_cluster(spec: Manifest, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        cluster = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"}}
        path = "/apis/cluster.karmada.io/v1alpha1/clusters"
        spec.setdefault("apiEndpoint", "https://evil.example")
        answer = await world.call("POST", path, {**cluster, "spec": spec}, user=AGENT)
        assert answer.code == (403 if said else 201), answer.body
        assert said in answer.body.get("message", "")

    tell(story, custom_resource_definitions(), admission=(AgentRestriction(),), objects=AGENT_ACCESS)
