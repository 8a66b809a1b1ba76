"""A control plane goes from Karmada to Leeward and back, on a real kube-apiserver with its garbage collector.

It is the last but one: the fleet is made a Karmada at rest, and belongs to Leeward again when it is over.
"""

import time
from typing import NamedTuple

from kubeapi.meta import Manifest
from leeward.app.migration.kinds import CLUSTERS_SERVICE
from tests.e2e.applications import BINDING, has_moved_to, place_divided, remove
from tests.e2e.fleet import MEMBERS, Fleet
from tests.e2e.karmada_at_rest import NAMESPACE, SERVICE, AggregatedApiServer, make_karmada

GARBAGE_SECONDS = 40.0
"""The garbage collector learns of kinds that come and go every thirty seconds."""


class Owned(NamedTuple):
    uid: str
    owner: str


def secrets(fleet: Fleet) -> dict[str, Owned]:
    found: list[Manifest] = fleet.get("secrets", "-n", "karmada-cluster")["items"]
    return {
        each["metadata"]["name"]: Owned(each["metadata"]["uid"], each["metadata"]["ownerReferences"][0]["uid"])
        for each in found
        if each["metadata"].get("ownerReferences")
    }


def cluster_uids(fleet: Fleet) -> dict[str, str]:
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in fleet.get("clusters")["items"]}


def copies(fleet: Fleet) -> dict[str, tuple[str, int]]:
    """Uid and generation of nginx in each member that has it."""
    found = {name: fleet.get("deployments", context=name)["items"] for name in MEMBERS}
    return {name: (each["metadata"]["uid"], each["metadata"]["generation"]) for name in found for each in found[name]}


def assert_all_is_owned(fleet: Fleet, before: dict[str, Owned]) -> None:
    """Checks it after the garbage collector had its time."""
    time.sleep(GARBAGE_SECONDS)
    now, uids = secrets(fleet), cluster_uids(fleet)
    assert {name: each.uid for name, each in now.items()} == {name: each.uid for name, each in before.items()}
    assert {each.owner for each in now.values()} == {uids[name] for name in MEMBERS}


def test_from_karmada_and_back_and_again(fleet: Fleet) -> None:
    place_divided(fleet, "member1", "member2")
    aggregated = AggregatedApiServer(fleet)
    try:
        make_karmada(fleet, aggregated)
        before, running = secrets(fleet), copies(fleet)
        assert set(before) >= set(MEMBERS)
        assert set(running) == {"member1", "member2"}
        assert_all_is_owned(fleet, before)
        karmadas = cluster_uids(fleet)
        adopt(fleet, karmadas)
        assert_all_is_owned(fleet, before)
        assert copies(fleet) == running
        fail_over(fleet)
        running = copies(fleet)
        fleet.serve.stop()
        fleet.webhook.stop()
        fleet.leeward("hand-back", "--yes")
        assert cluster_uids(fleet) == karmadas
        assert_all_is_owned(fleet, before)
        assert copies(fleet) == running
        assert "leeward" not in fleet.kubectl("get", "clusterroles,customresourcedefinitions", "-o", "name")
        adopt(fleet, karmadas)
        remove(fleet)
    finally:
        aggregated.program.stop()


def adopt(fleet: Fleet, karmadas: dict[str, str]) -> None:
    assert "`leeward adopt` takes over from Karmada" in fleet.leeward("init", fails=True)
    plan = fleet.leeward("init", "--check")
    assert f"(member1, member2, member3) kept by {NAMESPACE}/{SERVICE} will be kept by a definition" in plan
    assert plan == fleet.leeward("adopt", "--plan")
    assert cluster_uids(fleet) == karmadas
    fleet.leeward("adopt", "--yes")
    assert cluster_uids(fleet).keys() == karmadas.keys()
    assert set(cluster_uids(fleet).values()).isdisjoint(karmadas.values())
    assert "service" not in fleet.get("apiservice", CLUSTERS_SERVICE)["spec"]
    fleet.start_webhook()
    fleet.serve.start()
    for name in MEMBERS:
        fleet.eventually(lambda name=name: fleet.is_back(name), f"{name} is watched")


def fail_over(fleet: Fleet) -> None:
    member = fleet.members["member1"]
    member.kill()
    fleet.eventually(lambda: has_moved_to(fleet, {"member2": 3}), f"{BINDING} has moved")
    member.restart()
    fleet.release("member1")
    fleet.eventually(lambda: set(copies(fleet)) == {"member2"}, "what was moved is cleaned up")
