"""The writes of a switch and of its way back: each as it was seen, none to what is somebody else's, nothing of ours
left behind."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kubeapi.meta import Manifest
from kubeapi.transport import Request, Response
from kubeclient import Client
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL, SYSTEM_NAMESPACE
from leeward.api.resource import WORKS
from leeward.app.install.manifests import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from leeward.app.migration.adopting import adopt
from leeward.app.migration.handing_back import hand_back
from leeward.app.migration.inventory import Inventory
from leeward.app.migration.kinds import CLUSTER_MANIFESTS
from leeward.app.migration.left_marks import (
    DEPLOYMENT_MANIFESTS,
    clear,
    clear_template_conditions,
    marked_objects,
    told_templates,
)
from leeward.core.execution.deployment_conditions import is_worded_here
from leeward.operations.bindings import list_manifests
from tests.migration.aggregated import AggregatedWorld
from tests.migration.test_adopting import LEASE_MANIFESTS, assert_handed_back, play

OURS = {
    "type": "Available",
    "status": "True",
    "reason": "MinimumReplicasAvailable",
    "message": "every cluster has the replicas that it needs at least",
    "lastUpdateTime": "2026-11-22T13:10:00Z",
    "lastTransitionTime": "2026-11-22T13:10:00Z",
}
SCRIPTS = {**OURS, "type": "Progressing", "reason": "NewReplicaSetAvailable", "message": "my script says so"}
NAME = "app-00"
MARK = "leeward.dev/template-digest"


def silent(_: str) -> None:
    """Says nothing."""


async def tell(client: Client, *conditions: Manifest) -> Manifest:
    """Gives the template these conditions."""
    patch = {"status": {"conditions": list(conditions)}}
    return await client.patch(DEPLOYMENT_MANIFESTS, NAME, patch, "default", subresource="status")


async def conditions_of(client: Client) -> list[Manifest]:
    template = await client.get(DEPLOYMENT_MANIFESTS, NAME, "default")
    return template.get("status", {}).get("conditions") or []


class Tampering:
    """Passes requests on. Calls `before` ahead of the first `times` PATCHes to a path; notes all bodies of PATCHes."""

    def __init__(self, world: AggregatedWorld, path_end: str, before: Callable[[], Any], times: int) -> None:
        self.bodies: list[Manifest] = []
        self._through, self._end, self._before, self._left = world.layer, path_end, before, times
        self.client = Client(self)

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.method == "PATCH" and request.path.endswith(self._end):
            self.bodies.append(msgspec.json.decode(request.body or b""))
            if self._left:
                self._left -= 1
                await self._before()
        return await self._through.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> Any:
        return self._through.stream(request)

    async def close(self) -> None:
        """The world goes on."""


def test_conditions_in_the_words_of_others_stay() -> None:
    async def story(world: AggregatedWorld) -> None:
        await tell(world.client, OURS, SCRIPTS)
        assert [each["metadata"]["name"] for each in await told_templates(world.client)] == [NAME]
        assert await clear_template_conditions(world.client) == 1
        assert await conditions_of(world.client) == [SCRIPTS]
        assert await clear_template_conditions(world.client) == 0, "a second time writes nothing"

    play(story)


def test_our_conditions_go_from_a_template_that_no_policy_claims_any_more() -> None:
    async def story(world: AggregatedWorld) -> None:
        await tell(world.client, OURS)
        unclaimed = {"metadata": {"labels": dict.fromkeys((POLICY_ID_LABEL, CLUSTER_POLICY_ID_LABEL))}}
        await world.client.patch(DEPLOYMENT_MANIFESTS, NAME, unclaimed, "default")
        assert await clear_template_conditions(world.client) == 1
        assert await conditions_of(world.client) == []

    play(story)


def test_conditions_are_taken_off_the_version_that_was_seen_and_looked_at_again() -> None:
    async def story(world: AggregatedWorld) -> None:
        uid = (await tell(world.client, OURS))["metadata"]["uid"]

        async def somebody_writes() -> None:
            await tell(world.client, OURS, SCRIPTS)

        between = Tampering(world, f"/deployments/{NAME}/status", somebody_writes, 1)
        assert await clear_template_conditions(between.client) == 1
        assert await conditions_of(world.client) == [SCRIPTS]
        assert [body["metadata"]["uid"] for body in between.bodies] == [uid, uid]
        assert len({body["metadata"]["resourceVersion"] for body in between.bodies}) == 2

    play(story)


def test_marks_are_taken_off_what_was_seen_and_not_off_what_has_come_in_its_place() -> None:
    """The attempts are bounded, and what another has written in between stays."""

    async def story(world: AggregatedWorld) -> None:
        await adopt(world.user, world.clock, silent)
        work = (await list_manifests(world.client, WORKS))[0]["metadata"]
        name, namespace = work["name"], work["namespace"]
        await world.client.patch(WORKS, name, {"metadata": {"annotations": {MARK: "1"}}}, namespace)

        async def somebody_writes() -> None:
            await world.client.patch(WORKS, name, {"metadata": {"annotations": {"mine": "1"}}}, namespace)

        between = Tampering(world, f"/works/{name}", somebody_writes, 1)
        marked = await marked_objects(Inventory(between.client))
        assert [found.metadata.name for found in marked] == [name]
        assert await clear(between.client, marked) == 1
        assert {body["metadata"]["uid"] for body in between.bodies} == {work["uid"]}
        assert len({body["metadata"]["resourceVersion"] for body in between.bodies}) == 2
        after = (await world.client.get(WORKS, name, namespace)).metadata.annotations
        assert MARK not in after
        assert after["mine"] == "1"

    play(story)


def test_finalizers_are_taken_off_the_clusters_that_were_seen() -> None:
    async def story(world: AggregatedWorld) -> None:
        await adopt(world.user, world.clock, silent)
        served = await list_manifests(world.client, CLUSTER_MANIFESTS)
        uid = next(each["metadata"]["uid"] for each in served if each["metadata"]["name"] == "member3")

        async def its_agent_reports() -> None:
            await world.client.patch(CLUSTER_MANIFESTS, "member3", {"metadata": {"labels": {"seen": "now"}}})

        between = Tampering(world, "/clusters/member3", its_agent_reports, 1)
        await hand_back(between.client, world.clock, silent)
        first, second = between.bodies[:2]
        assert first["metadata"]["finalizers"] is second["metadata"]["finalizers"] is None
        assert first["metadata"]["uid"] == second["metadata"]["uid"] == uid
        await assert_handed_back(world)

    play(story, applications=False)


def test_roles_that_were_there_before_keep_their_uids_and_are_there_all_the_time() -> None:
    """Karmada's own agents live by them, also while the control plane is handed back."""

    async def story(world: AggregatedWorld) -> None:
        kinds = (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
        mine = {"rules": [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]}
        await world.client.patch(CLUSTER_ROLES, "system:karmada:agents", mine)
        before = [await world.client.get(kind, "system:karmada:agents") for kind in kinds]
        await adopt(world.user, world.clock, silent)
        await hand_back(world.user, world.clock, silent)
        after = [await world.client.get(kind, "system:karmada:agents") for kind in kinds]
        assert [each["metadata"]["uid"] for each in after] == [each["metadata"]["uid"] for each in before]
        assert after[0]["rules"] == mine["rules"]
        assert after[1]["subjects"] == before[1]["subjects"]

    play(story, applications=False)


def test_no_condition_of_ours_goes_to_karmadas_server_with_a_cluster() -> None:
    async def story(world: AggregatedWorld) -> None:
        await adopt(world.user, world.clock, silent)
        ours = {"type": "leeward.dev/LastSeen", "status": "False", "reason": "NotSeen", "message": ""}
        found = await world.client.get(CLUSTER_MANIFESTS, "member1")
        theirs = found["status"]["conditions"]
        told = {"status": {"conditions": [*theirs, {**ours, "lastTransitionTime": "2026-11-22T13:10:00Z"}]}}
        await world.client.patch(CLUSTER_MANIFESTS, "member1", told, subresource="status")
        await hand_back(world.user, world.clock, silent)
        handed = await world.aggregated.get(CLUSTER_MANIFESTS, "member1")
        assert [each["type"] for each in handed["status"]["conditions"]] == [each["type"] for each in theirs]

    play(story, applications=False)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (OURS, True),
        ({**OURS, "message": "Deployment has minimum availability."}, False),
        ({**OURS, "type": "Progressing"}, False),
        ({**OURS, "type": "example.com/Mine"}, False),
        ({**OURS, "reason": "MinimumReplicasUnavailable", "message": "7 replicas have no cluster"}, True),
        ({**OURS, "reason": "MinimumReplicasUnavailable", "message": "some replicas have no cluster"}, False),
        ({"type": "Available"}, False),
    ],
    ids=["ours", "of Kubernetes", "of another type", "of a user", "with a number", "with none", "bare"],
)
def test_words_tell_whose_a_condition_is(condition: Manifest, expected: bool) -> None:
    assert is_worded_here(condition) is expected


def test_no_lease_of_ours_stays_and_no_word_of_ours_on_those_that_karmada_holds_again() -> None:
    """Shards were at work, and the leader was killed before it could take its word back."""

    async def story(world: AggregatedWorld) -> None:
        await adopt(world.user, world.clock, lambda _: None)
        names = ("leeward-heartbeat", "leeward-shard-0", "leeward-shard-1", "karmada-controller-manager")
        for name in names:
            marks = {"leeward.dev/shards": "2/somebody", "example.com/mine": "yes"}
            lease = {"metadata": {"name": name, "annotations": marks}, "spec": {}}
            await world.client.create(LEASE_MANIFESTS, lease, SYSTEM_NAMESPACE)
        kept = await world.client.get(LEASE_MANIFESTS, "karmada-controller-manager", SYSTEM_NAMESPACE)
        await hand_back(world.user, world.clock, lambda _: None)
        (left,) = (await world.client.list(LEASE_MANIFESTS, SYSTEM_NAMESPACE)).items
        assert left["metadata"]["uid"] == kept["metadata"]["uid"]
        assert left["metadata"]["annotations"] == {"example.com/mine": "yes"}

    play(story, applications=False)
