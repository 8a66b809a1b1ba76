"""Rights to write Clusters, which give nobody a Secret.

The attacker may write Clusters (an operator who joins and taints clusters, a controller that labels them), and may read
no Secret.

They make a Cluster that refers to a Secret of another namespace, and whose endpoint is a server of theirs; or they let
a Cluster that is there lead to their server, through their proxy, or over http://.

They must not get: a write that has the control plane send a token to where they say. Told twice: of the embedded API
server, and of the webhook, which asks a kube-apiserver.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import Client
from kubeserver.handler import User
from leeward.api.schema import custom_resource_definitions
from leeward.core.member_credentials import ExposedSecret, exposed_secrets
from leeward.manager.admission import KarmadaAdmission
from leeward.manager.timing import Timing
from leeward.webhook.store_rules import judge_credentials
from tests.kubeserver.api_world import ApiWorld, api_world
from tests.transports import Deaf

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
JANE = User("jane", ("operators", "system:authenticated"))
SECRET = {"namespace": "karmada-cluster", "name": "member1"}
SPEAKER = {"namespace": "karmada-cluster", "name": "member1-impersonator"}
MEMBER1 = {
    "syncMode": "Push",
    "apiEndpoint": "https://member1.example",
    "secretRef": SECRET,
    "impersonatorSecretRef": SPEAKER,
}


def cluster(name: str, spec: Manifest, **annotations: str) -> Manifest:
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata, "spec": spec}


async def allow(world: ApiWorld, name: str, *rules: Manifest) -> None:
    await world.create(ROLES, {"metadata": {"name": name}, "rules": list(rules)})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}
    await world.create(BINDINGS, {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})


def tell(story: Callable[[ApiWorld], Awaitable[None]]) -> None:
    async def play() -> None:
        def admission(store: Any) -> tuple[KarmadaAdmission]:
            return (KarmadaAdmission(VirtualClock(), Randomness(1), Timing.karmada(), store),)

        async with api_world(crds=custom_resource_definitions(), admission_over=admission) as world:
            clusters = {
                "apiGroups": ["cluster.karmada.io"],
                "resources": ["clusters", "clusters/proxy"],
                "verbs": ["*"],
            }
            await allow(world, "operator", clusters)
            assert (await world.create(CLUSTERS, cluster("member1", MEMBER1))).code == 201
            await story(world)

    run_virtual(play())


MOVES: tuple[tuple[str, Manifest], ...] = (
    ("its endpoint", {"spec": {"apiEndpoint": "https://evil.example"}}),
    ("its proxy", {"spec": {"proxyURL": "http://evil.example:3128"}}),
    ("whom it trusts", {"spec": {"insecureSkipTLSVerification": True}}),
    ("another Secret", {"spec": {"secretRef": {"namespace": "kube-system", "name": "root"}}}),
    ("another speaker", {"spec": {"impersonatorSecretRef": {"namespace": "kube-system", "name": "root"}}}),
    ("in the clear", {"metadata": {"annotations": {"leeward.dev/allow-http": "true"}}}),
)


@pytest.mark.parametrize("patch", [patch for _, patch in MOVES], ids=[name for name, _ in MOVES])
def test_nobody_lets_a_cluster_show_a_secret_that_they_may_not_read(patch: Manifest) -> None:
    async def story(world: ApiWorld) -> None:
        before = (await world.get(f"{CLUSTERS}/member1")).body
        merge = "application/merge-patch+json"
        refused = await world.call("PATCH", f"{CLUSTERS}/member1", patch, content_type=merge, user=JANE)
        assert refused.code == 403
        assert 'user "jane" may not read the Secret ' in refused.body["message"]
        assert (await world.get(f"{CLUSTERS}/member1")).body == before
        assert (await world.patch(f"{CLUSTERS}/member1", patch)).code == 200, "an administrator may"

    tell(story)


def test_a_new_cluster_refers_to_no_secret_that_its_writer_may_not_read() -> None:
    async def story(world: ApiWorld) -> None:
        for field in ("secretRef", "impersonatorSecretRef"):
            spec = {"syncMode": "Push", "apiEndpoint": "https://evil.example", field: SECRET}
            refused = await world.call("POST", CLUSTERS, cluster("evil", spec), user=JANE)
            assert refused.code == 403
            assert f"spec.{field}: " in refused.body["message"]
            assert "the Secret karmada-cluster/member1" in refused.body["message"]
        one = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["member1"]}
        await allow(world, "reader", one)
        spec = {"syncMode": "Push", "apiEndpoint": "https://member2.example", "secretRef": SECRET}
        assert (await world.call("POST", CLUSTERS, cluster("member2", spec), user=JANE)).code == 201

    tell(story)


def test_who_reads_no_secrets_still_taints_and_labels_clusters() -> None:
    async def story(world: ApiWorld) -> None:
        patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
        merge = "application/merge-patch+json"
        assert (await world.call("PATCH", f"{CLUSTERS}/member1", patch, content_type=merge, user=JANE)).code == 200

    tell(story)


def asked(new: Manifest, old: Manifest | None = None, user: User = JANE) -> Manifest:
    who = {"username": user.name, "groups": list(user.groups)}
    operation = "UPDATE" if old else "CREATE"
    return {
        "operation": operation,
        "resource": {"resource": "clusters"},
        "userInfo": who,
        "object": new,
        "oldObject": old,
    }


def test_the_webhook_asks_what_the_writer_may_read() -> None:
    async def story(world: ApiWorld) -> None:
        client = Client(world.transport)
        there, moved = (
            cluster("member1", MEMBER1),
            cluster("member1", {**MEMBER1, "apiEndpoint": "https://evil.example"}),
        )
        refused = await judge_credentials(asked(moved, there), client)
        assert refused is not None
        assert (refused["allowed"], refused["status"]["code"]) == (False, 403)
        for name in ("member1", "member1-impersonator"):
            assert f"may not read the Secret karmada-cluster/{name}" in refused["status"]["message"]
        assert (await judge_credentials(asked(there), client) or {})["allowed"] is False
        assert await judge_credentials(asked(there, there), client) is None
        masters = User("root", ("system:masters", "system:authenticated"))
        assert await judge_credentials(asked(moved, there, masters), client) is None
        one = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
        await allow(world, "reader", one)
        assert await judge_credentials(asked(moved, there), client) is None

    tell(story)


@pytest.mark.parametrize("hangs", [False, True])
def test_while_nobody_tells_what_the_writer_may_read_no_secret_is_shown(*, hangs: bool) -> None:
    deaf, there = Client(Deaf(hangs=hangs)), cluster("member1", MEMBER1)

    async def story() -> None:
        refused = await judge_credentials(asked(there), deaf)
        assert refused is not None
        assert refused["status"]["code"] == 503
        assert "try again" in refused["status"]["message"]
        labelled = {**there, "metadata": {"name": "member1", "labels": {"a": "b"}}}
        assert await asyncio.wait_for(judge_credentials(asked(labelled, there), deaf), 1) is None

    run_virtual(story())


def test_an_agent_shows_what_is_in_its_own_execution_space_and_nothing_else() -> None:
    """Being Pull, and no other cluster's, is a rule of its own: `tests/unit/core/test_registration_tokens.py`."""

    async def story(world: ApiWorld) -> None:
        agent = User("system:karmada:agent:member9", ("system:karmada:agents", "system:authenticated"))
        who = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": agent.name}
        await world.patch(f"{BINDINGS}/operator", {"subjects": [who]})
        own = {"namespace": "karmada-es-member9", "name": "speaker"}
        pull = {"syncMode": "Pull", "apiEndpoint": "https://member9.example"}
        theirs = cluster("member9", {**pull, "impersonatorSecretRef": SPEAKER})
        assert (await world.call("POST", CLUSTERS, theirs, user=agent)).code == 403
        told = await judge_credentials(asked(theirs, user=agent), Client(world.transport))
        assert told is not None
        assert told["status"]["code"] == 403
        good = cluster("member9", {**pull, "impersonatorSecretRef": own})
        assert (await world.call("POST", CLUSTERS, good, user=agent)).code == 201
        assert await judge_credentials(asked(good, user=agent), Client(world.transport)) is None

    tell(story)


def test_what_stays_is_shown_to_nobody_new() -> None:
    there = cluster("member1", MEMBER1)
    assert exposed_secrets(there, there) == ()
    assert exposed_secrets(cluster("member1", {"syncMode": "Push", "secretRef": "text"}), None) == ()
    secret = ExposedSecret("secretRef", **SECRET)
    speaker = ExposedSecret("impersonatorSecretRef", **SPEAKER)
    assert exposed_secrets(there, None) == (secret, speaker)
    other = cluster("member1", {**MEMBER1, "secretRef": {**SECRET, "name": "other"}})
    assert exposed_secrets(other, there) == (ExposedSecret("secretRef", "karmada-cluster", "other"),)
