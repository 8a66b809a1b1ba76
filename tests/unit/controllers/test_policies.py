"""A policy that goes is let go when no template carries its claim, and not because one could not be looked at."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from controller_runtime.identity import Key
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import NotFound, Request, Response, Undecodable, Unreachable, WorldError
from leeward.api.names import (
    CLUSTER_POLICY_ID_LABEL,
    CLUSTER_PROPAGATION_POLICY_CONTROLLER_FINALIZER,
    POLICY_ID_LABEL,
    PROPAGATION_POLICY_CONTROLLER_FINALIZER,
)
from leeward.api.resource import CLUSTER_PROPAGATION_POLICIES, PROPAGATION_POLICIES
from leeward.controllers.policies import MOST_ASKED_SINGLY, PolicyController, PolicyKey, StillClaimed
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.templates import Templates
from leeward.runtime.work_share import WHOLE, Shard, WorkShare
from tests.unit.controllers.desk import CONFIG_MAPS, Desk, Wire, play

OURS, THEIRS, ID = PROPAGATION_POLICY_CONTROLLER_FINALIZER, "example.com/keep", "id-1"
KEY = PolicyKey(PROPAGATION_POLICIES.plural, Key("default", "web"))
CLUSTER_KEY = PolicyKey(CLUSTER_PROPAGATION_POLICIES.plural, Key("", "web"))
MAPS, WIDGETS = ("v1", "ConfigMap"), ("example.com/v1", "Widget")


class Office:
    """The controller, reconciling when a story says so."""

    def __init__(self, desk: Desk, share: WorkShare) -> None:
        self.desk = desk
        self.templates = Templates(desk.plane.server)
        self.controller = PolicyController(replace(desk.plane, share=share), self.templates)

    async def reconcile(self, key: PolicyKey = KEY) -> None:
        await asyncio.sleep(0.02)
        assert await self.controller.reconcile(key) is None

    async def policy(self, *kinds: tuple[str, str], cluster: bool = False, finalizers: Sequence[str] = (OURS,)) -> Any:
        """A policy that selects these kinds, and has an id."""
        label = CLUSTER_POLICY_ID_LABEL if cluster else POLICY_ID_LABEL
        metadata = {"name": "web", "labels": {label: ID}, "finalizers": list(finalizers)}
        selectors = [{"apiVersion": api_version, "kind": kind} for api_version, kind in kinds]
        made: Manifest = {"metadata": metadata, "spec": {"resourceSelectors": selectors, "placement": {}}}
        return await self.desk.client.create(_resource(cluster), made, "" if cluster else "default")

    async def going(self, *kinds: tuple[str, str], cluster: bool = False, finalizers: Sequence[str] = (OURS,)) -> Any:
        """Cluster that is being deleted."""
        await self.policy(*kinds, cluster=cluster, finalizers=finalizers)
        namespace = "" if cluster else "default"
        await self.desk.client.delete(_resource(cluster), "web", namespace)
        return await self.desk.client.get(_resource(cluster), "web", namespace)

    async def claimed(self, label: str = POLICY_ID_LABEL, identity: str = ID, **metadata: Any) -> None:
        """A ConfigMap that carries a claim."""
        made: Manifest = {"metadata": {"name": "colors", "labels": {label: identity}, **metadata}}
        await self.desk.client.create(CONFIG_MAPS, made, "default")

    async def is_gone(self, *, cluster: bool = False) -> bool:
        try:
            await self.desk.client.get(_resource(cluster), "web", "" if cluster else "default")
        except NotFound:
            return True
        return False


def _resource(cluster: bool) -> Resource[Any]:
    return CLUSTER_PROPAGATION_POLICIES if cluster else PROPAGATION_POLICIES


def tell(story: Callable[[Office], Awaitable[None]], share: WorkShare = WHOLE) -> None:
    async def prepared(desk: Desk) -> None:
        await story(Office(desk, share))

    play(prepared)


class Offering:
    """A transport that has the server offer `example.com/v1`, with these kinds or, with None, without an answer."""

    def __init__(self, wire: Wire, kinds: Sequence[str] | None) -> None:
        self._inner = wire.inner
        self.kinds = kinds
        self.stream, self.close = wire.inner.stream, wire.inner.close
        wire.inner = self

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        version = {"groupVersion": "example.com/v1", "version": "v1"}
        if request.path == "/apis":
            group = {"name": "example.com", "versions": [version], "preferredVersion": version}
            return _answer({"kind": "APIGroupList", "groups": [group]})
        if request.path == "/apis/example.com/v1":
            if self.kinds is None:
                return Response(503, b"")
            resources = [{"name": f"{kind.lower()}s", "kind": kind, "namespaced": True} for kind in self.kinds]
            return _answer({"kind": "APIResourceList", **version, "resources": resources})
        return await self._inner.send(request, timeout_seconds=timeout_seconds)


def _answer(body: Manifest) -> Response:
    return Response(200, json.dumps(body).encode())


def test_the_finalizer_goes_in_the_version_that_was_seen_and_others_stay_s5() -> None:
    async def story(office: Office) -> None:
        going = await office.going(MAPS, finalizers=(OURS, THEIRS))
        await office.reconcile()
        (sent,) = office.desk.wire.writes()
        path = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies/web"
        assert (sent.method, sent.path, sent.version) == ("PATCH", path, going.metadata.resource_version)
        assert sent.body["metadata"]["finalizers"] == [THEIRS]
        await office.reconcile()
        assert office.desk.wire.writes() == [], "what others keep is theirs to give up"

    tell(story)


def test_a_policy_for_all_namespaces_is_let_go_alike() -> None:
    async def story(office: Office) -> None:
        await office.going(MAPS, cluster=True, finalizers=(CLUSTER_PROPAGATION_POLICY_CONTROLLER_FINALIZER,))
        await office.claimed(CLUSTER_POLICY_ID_LABEL)
        with pytest.raises(StillClaimed, match=r"^templates of policy web are not released yet$"):
            await office.reconcile(CLUSTER_KEY)
        await office.desk.client.delete(CONFIG_MAPS, "colors", "default")
        await office.reconcile(CLUSTER_KEY)
        assert await office.is_gone(cluster=True)

    tell(story)


def test_while_a_template_carries_the_claim_the_policy_stays() -> None:
    async def story(office: Office) -> None:
        await office.claimed()
        await office.going(MAPS)
        with pytest.raises(StillClaimed):
            await office.reconcile()
        assert office.desk.wire.writes() == []
        unclaimed = {"metadata": {"labels": {POLICY_ID_LABEL: "another"}}}
        await office.desk.client.patch(CONFIG_MAPS, "colors", unclaimed, "default")
        await office.reconcile()
        assert await office.is_gone()

    tell(story)


def test_the_claim_of_a_template_that_goes_counts_no_more() -> None:
    async def story(office: Office) -> None:
        await office.claimed(finalizers=[THEIRS])
        await office.desk.client.delete(CONFIG_MAPS, "colors", "default")
        await office.going(MAPS)
        await office.reconcile()
        assert await office.is_gone()

    tell(story)


def test_the_cache_alone_does_not_say_that_nothing_is_claimed_s5() -> None:
    async def story(office: Office) -> None:
        await office.going(MAPS)
        _, templates = await office.templates.follow(*MAPS)
        await templates.wait_synced()
        cast(Any, templates).list = lambda: ()
        await office.claimed()
        with pytest.raises(StillClaimed):
            await office.reconcile()

    tell(story)


def test_a_template_that_is_known_to_be_claimed_is_not_asked_for_again() -> None:
    async def story(office: Office) -> None:
        await office.going(MAPS)
        await office.claimed()
        with pytest.raises(StillClaimed):
            await office.reconcile()
        office.desk.wire.sent.clear()
        office.desk.wire.refuse = lambda request: Unreachable("cut")
        with pytest.raises(StillClaimed):
            await office.reconcile()

    tell(story)


@pytest.mark.parametrize("cluster", [False, True])
def test_the_server_is_asked_for_claims_of_that_policy_alone(cluster: bool) -> None:
    async def story(office: Office) -> None:
        await office.claimed(CLUSTER_POLICY_ID_LABEL if cluster else POLICY_ID_LABEL, "another")
        await office.going(MAPS, cluster=cluster, finalizers=(THEIRS,))
        asked: list[tuple[str, str]] = []

        def note(request: Request) -> WorldError | None:
            if request.query.get("labelSelector"):
                asked.append((request.path, request.query["labelSelector"]))
            return None

        office.desk.wire.refuse = note
        await office.reconcile(CLUSTER_KEY if cluster else KEY)
        path = "/api/v1/configmaps" if cluster else "/api/v1/namespaces/default/configmaps"
        assert asked == [(path, f"{CLUSTER_POLICY_ID_LABEL if cluster else POLICY_ID_LABEL}={ID}")]

    tell(story)


def test_a_kind_that_is_not_there_holds_back_no_deletion_and_no_other_kind() -> None:
    async def story(office: Office) -> None:
        await office.going(WIDGETS, MAPS)
        await office.claimed()
        with pytest.raises(StillClaimed):
            await office.reconcile()
        await office.desk.client.delete(CONFIG_MAPS, "colors", "default")
        await office.reconcile()
        assert await office.is_gone()

    tell(story)


def test_a_kind_that_is_gone_by_now_holds_back_no_deletion_and_one_that_is_there_does() -> None:
    """The kind is followed until its definition is taken away, in the same go as the policy."""

    async def story(office: Office) -> None:
        await office.going(WIDGETS)
        offering = Offering(office.desk.wire, ["Widget"])
        await office.templates.follow(*WIDGETS)
        with pytest.raises(NotFound):
            await office.reconcile()
        offering.kinds = None
        with pytest.raises(Undecodable):
            await office.reconcile()
        offering.kinds = []
        await office.reconcile()
        assert await office.is_gone()

    tell(story)


def test_a_kind_whose_group_does_not_answer_holds_the_deletion_back_s5() -> None:
    async def story(office: Office) -> None:
        await office.going(WIDGETS)
        offering = Offering(office.desk.wire, ["Gadget"])
        follow = office.templates.follow

        async def follow_and_lose(api_version: str, kind: str) -> Any:
            try:
                return await follow(api_version, kind)
            finally:
                offering.kinds = lost

        office.templates.follow = follow_and_lose
        lost: Sequence[str] | None = None
        with pytest.raises(Undecodable, match=r"^the kinds of example\.com/v1 cannot be read$"):
            await office.reconcile()
        offering.kinds, lost = ["Gadget"], ["Widget"]
        with pytest.raises(UnknownKind):
            await office.reconcile()
        assert not await office.is_gone()
        offering.kinds = lost = ["Gadget"]
        await office.reconcile()
        assert await office.is_gone()

    tell(story)


def test_kinds_that_policies_select_are_followed_and_one_that_is_missing_holds_back_no_other() -> None:
    async def story(office: Office) -> None:
        await office.policy(WIDGETS, MAPS)
        with pytest.raises(UnknownKind, match=r"^the cluster does not offer example\.com/v1 Widget$"):
            await office.reconcile()
        assert office.templates.of(*MAPS) is not None
        assert office.desk.wire.writes() == []

    tell(story)


def test_many_strange_kinds_are_looked_up_all_at_once() -> None:
    async def story(office: Office) -> None:
        strange = [(WIDGETS[0], f"Kind{number}") for number in range(MOST_ASKED_SINGLY)]
        await office.policy(*strange, *strange, MAPS, ("v1", "Secret"))
        office.desk.wire.sent.clear()
        with pytest.raises(UnknownKind, match=r"^the cluster does not offer 8 kinds that policy web selects$"):
            await office.reconcile()
        asked = [sent.path for sent in office.desk.wire.sent]
        assert asked.count("/apis/example.com/v1") == 0
        assert office.templates.of(*MAPS) is not None
        assert office.templates.of("v1", "Secret") is not None

    tell(story)


def test_few_strange_kinds_are_asked_for_one_by_one() -> None:
    async def story(office: Office) -> None:
        strange = [(WIDGETS[0], f"Kind{number}") for number in range(MOST_ASKED_SINGLY)]
        await office.templates.follow(*MAPS)
        await office.policy(*strange, MAPS)
        with pytest.raises(UnknownKind, match=r"^the cluster does not offer example\.com/v1 Kind7$"):
            await office.reconcile()
        assert "/apis" not in [sent.path for sent in office.desk.wire.sent]

    tell(story)


def test_a_kind_whose_group_does_not_answer_is_not_counted_as_missing() -> None:
    async def story(office: Office) -> None:
        strange = [(WIDGETS[0], f"Kind{number}") for number in range(MOST_ASKED_SINGLY)]
        await office.policy(*strange, WIDGETS)
        Offering(office.desk.wire, None)
        with pytest.raises(WorldError) as failed:
            await office.reconcile()
        assert "kinds that policy" not in str(failed.value)

    tell(story)


def test_policies_are_looked_at_when_they_change_until_they_are_gone() -> None:
    async def story(office: Office) -> None:
        office.controller.start()
        await office.policy(MAPS)
        await office.policy(MAPS, cluster=True, finalizers=())
        await asyncio.sleep(1)
        assert office.templates.of(*MAPS) is not None
        await office.desk.client.delete(PROPAGATION_POLICIES, "web", "default")
        await office.desk.client.delete(CLUSTER_PROPAGATION_POLICIES, "web")
        await asyncio.sleep(1)
        assert await office.is_gone()
        assert await office.is_gone(cluster=True)

    tell(story)


def test_a_policy_all_of_whose_kinds_are_there_is_no_failure() -> None:
    async def story(office: Office) -> None:
        await office.policy(MAPS, ("v1", "Secret"))
        await office.reconcile()
        assert office.templates.of("v1", "Secret") is not None

    tell(story)


def test_who_stands_by_follows_the_kinds_that_are_selected_and_writes_nothing_s8() -> None:
    async def story(office: Office) -> None:
        office.controller.stand_by()
        await office.policy(MAPS)
        await office.policy(("v1", "Secret"), cluster=True)
        await asyncio.sleep(1)
        assert office.templates.of(*MAPS) is not None
        assert office.templates.of("v1", "Secret") is not None
        await office.desk.client.delete(PROPAGATION_POLICIES, "web", "default")
        await asyncio.sleep(1)
        assert office.desk.wire.writes() == []
        assert not await office.is_gone()

    tell(story)


@pytest.mark.parametrize("cluster", [False, True])
def test_who_stands_by_follows_no_kind_for_a_policy_that_goes(cluster: bool) -> None:
    async def story(office: Office) -> None:
        await office.going(MAPS, cluster=cluster, finalizers=(OURS, THEIRS))
        office.controller.stand_by()
        await asyncio.sleep(1)
        assert office.templates.of(*MAPS) is None

    tell(story)


def test_who_begins_after_standing_by_lets_policies_go() -> None:
    async def story(office: Office) -> None:
        office.controller.stand_by()
        await office.going(MAPS)
        await asyncio.sleep(1)
        assert not await office.is_gone()
        office.controller.start()
        await asyncio.sleep(1)
        assert await office.is_gone()

    tell(story)


@pytest.mark.parametrize("index", [0, 1])
def test_a_policy_is_let_go_by_the_shard_whose_it_is_alone_s8(index: int) -> None:
    shard = Shard(index, 2)

    async def story(office: Office) -> None:
        await office.going(MAPS)
        await office.reconcile()
        assert await office.is_gone() == shard.owns("default/web")

    tell(story, WorkShare.of_shard(shard))
