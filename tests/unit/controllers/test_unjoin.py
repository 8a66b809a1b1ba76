"""Things that are taken back when a Cluster leaves, step by step, and what each request is bound to."""

from typing import Any

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.status import Status
from kubeclient import NotServed, Request, Unreachable
from leeward.api.cluster import Cluster
from leeward.api.names import EXECUTION_CONTROLLER_FINALIZER
from leeward.api.resource import WORKS
from leeward.controllers.cluster.unjoin import give_back, why_it_stays
from tests.builders import cluster
from tests.unit.controllers.desk import SPACE, Desk, play, preconditions

OURS, THEIRS = EXECUTION_CONTROLLER_FINALIZER, "example.com/keep"
DEAD_AGENT = cluster("member1", ready="Unknown", sync_mode="Pull")
ALIVE: list[Cluster] = [
    cluster("member1"),
    cluster("member1", ready="False"),
    cluster("member1", sync_mode="Pull"),
]
WORK = f"/apis/work.karmada.io/v1alpha1/namespaces/{SPACE}/works/web"


async def going(desk: Desk, *finalizers: str) -> Any:
    """A Work that is being deleted and has these finalizers."""
    await desk.work(metadata={"finalizers": list(finalizers)})
    await desk.client.delete(WORKS, "web", SPACE)
    return await desk.seen()


def test_works_go_first_each_as_it_was_seen_and_then_the_space_s5() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        space = (await desk.client.get(NAMESPACES, SPACE)).metadata
        await desk.cluster("member2")
        others: Manifest = {"metadata": {"name": "web"}, "spec": {"workload": {}}}
        other = await desk.client.create(WORKS, others, "karmada-es-member2")
        first, second = await desk.work(), await desk.work("zoo")
        left = await give_back(desk.plane.client, cluster("member1"), SPACE)
        assert [work.name for work in left or ()] == ["web", "zoo"]
        sent = desk.wire.writes()
        assert [(one.method, *preconditions(one)) for one in sent] == [
            ("DELETE", work.metadata.uid, work.metadata.resource_version) for work in (first, second)
        ]
        assert sent[0].path == WORK
        assert await give_back(desk.plane.client, cluster("member1"), SPACE) == []
        (deleted,) = desk.wire.writes()
        assert (deleted.method, deleted.path) == ("DELETE", f"/api/v1/namespaces/{SPACE}")
        assert preconditions(deleted) == (space.uid, space.resource_version)
        assert await give_back(desk.plane.client, cluster("member1"), "karmada-es-none") is None
        assert desk.wire.writes() == []
        assert await desk.seen("web", "karmada-es-member2") == other

    play(story)


def test_a_space_that_goes_already_is_waited_for() -> None:
    async def story(desk: Desk) -> None:
        space = {"metadata": {"name": SPACE, "finalizers": [THEIRS]}}
        await desk.client.create(NAMESPACES, space)
        await desk.client.delete(NAMESPACES, SPACE)
        assert await give_back(desk.plane.client, cluster("member1"), SPACE) == []
        assert desk.wire.writes() == []

    play(story)


def test_a_space_that_cannot_be_seen_is_not_gone_s5() -> None:
    async def story(desk: Desk) -> None:
        path = f"/api/v1/namespaces/{SPACE}"
        for error in (NotServed(Status(code=404)), Unreachable("cut")):
            desk.wire.refuse = lambda request, error=error: error if request.path == path else None
            with pytest.raises(type(error)):
                await give_back(desk.plane.client, cluster("member1"), SPACE)

    play(story)


def test_of_a_dead_agent_nobody_waits_for_anything_but_for_what_others_keep() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await going(desk, OURS, THEIRS)
        await give_back(desk.plane.client, DEAD_AGENT, SPACE)
        (sent,) = desk.wire.writes()
        assert (sent.method, sent.path, sent.version) == ("PATCH", WORK, work.metadata.resource_version)
        assert (await desk.seen()).metadata.finalizers == (THEIRS,)
        await give_back(desk.plane.client, DEAD_AGENT, SPACE)
        assert desk.wire.writes() == [], "what others keep is theirs to give up"

    play(story)


def test_with_its_last_finalizer_the_work_goes() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        await going(desk, OURS)
        await give_back(desk.plane.client, DEAD_AGENT, SPACE)
        assert (await desk.client.list(WORKS, SPACE)).items == ()

    play(story)


@pytest.mark.parametrize("alive", ALIVE)
def test_who_may_still_clean_up_is_waited_for_l3(alive: Cluster) -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await going(desk, OURS)
        assert await give_back(desk.plane.client, alive, SPACE) == (work,)
        assert desk.wire.writes() == []

    play(story)


def test_what_has_changed_meanwhile_holds_up_no_other_and_is_looked_at_again_s5() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        await desk.work()
        await desk.work("zoo")

        async def change() -> None:
            await desk.note()

        desk.wire.before["DELETE"] = change
        await give_back(desk.plane.client, cluster("member1"), SPACE)
        assert [work.name for work in (await desk.client.list(WORKS, SPACE)).items] == ["web"]

        async def gone() -> None:
            await desk.client.delete(WORKS, "web", SPACE)

        desk.wire.before["DELETE"] = gone
        await give_back(desk.plane.client, cluster("member1"), SPACE)
        assert (await desk.client.list(WORKS, SPACE)).items == ()

    play(story)


def test_a_failure_of_the_world_is_said_and_not_passed_over() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        await desk.work()

        def cut(request: Request) -> Unreachable | None:
            return Unreachable("cut") if request.method == "DELETE" else None

        desk.wire.refuse = cut
        with pytest.raises(Unreachable):
            await give_back(desk.plane.client, cluster("member1"), SPACE)

    play(story)


def test_why_it_stays_is_said_of_a_push_cluster_that_is_away() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        left = [await desk.work("zoo"), await desk.work()]
        away = cluster("member1", ready="False")
        assert why_it_stays(away, left) == (
            "It is leaving, but what runs there cannot be removed while it is not ready (2 Works are left, as web). "
            "It leaves when it is back, or with `leeward unjoin member1 --force`."
        )
        assert why_it_stays(away, []) == ""
        assert why_it_stays(cluster("member1"), left) == ""
        assert why_it_stays(DEAD_AGENT, left) == ""

    play(story)


@pytest.mark.parametrize(
    ("api_version", "kind", "stays"),
    [("v1", "Namespace", True), ("v1", "PersistentVolumeClaim", True), ("v1", "ConfigMap", False)],
)
def test_what_others_may_live_in_is_left_in_a_cluster_that_leaves_s12(api_version: str, kind: str, stays: bool) -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        manifest: Manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "shop"}}
        await desk.work(metadata={"finalizers": [OURS]}, workload={"manifests": [manifest]})
        desk.wire.writes()
        await give_back(desk.plane.client, cluster("member1"), SPACE)
        assert [sent.method for sent in desk.wire.writes()] == (["PATCH"] if stays else []) + ["DELETE"]
        work = await desk.seen()
        assert bool(work.spec.preserve_resources_on_deletion) == stays
        assert work.metadata.deletion_timestamp is not None

    play(story)
