"""Values that an older Karmada has stored are read as they were meant, and what has them fails over."""

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from leeward.api.resource import PROPAGATION_POLICIES, RESOURCE_BINDINGS
from leeward.app.migration.adopting import plan
from tests.migration.karmada_agent import KarmadaAgent
from tests.migration.recorded import Entry, RecordedWorld

FAILOVER_SECONDS = 1_200
"""Threshold, eviction timeout and toleration are 630 s; the rest is for the copies to come up."""
NAMES_EVERY_CLUSTER = 13
"""Applications of the recording that are Duplicated to all members: no other cluster can take them."""
WITH_FAILOVER = ("propagationpolicies", "clusterpropagationpolicies", "resourcebindings", "clusterresourcebindings")


def with_old_words(entry: Entry) -> None:
    """Gives the object the application failover of Karmada 1.6 to 1.14, every third with the word that was not the
    default; and a binding that stays in its place an eviction task of Karmada 1.12."""
    manifest = entry.manifest
    if entry.plural not in WITH_FAILOVER:
        return
    name: str = manifest["metadata"]["name"]
    behaviour: Manifest = {"decisionConditions": {"tolerationSeconds": 300}, "purgeMode": "Graciously"}
    behaviour["gracePeriodSeconds"] = 600
    if sum(map(ord, name)) % 3 == 0:
        behaviour = {"decisionConditions": {"tolerationSeconds": 300}, "purgeMode": "Immediately"}
    manifest["spec"] |= {"failover": {"application": behaviour}, "propagateDeps": True}
    if name == "cm-dep-deployment":
        manifest["spec"]["gracefulEvictionTasks"] = [
            {
                "fromCluster": "member2",
                "purgeMode": "Graciously",
                "reason": "TaintUntolerated",
                "producer": "TaintManager",
                "creationTimestamp": "2026-11-22T13:05:00Z",
            }
        ]


def unreadable(entry: Entry) -> None:
    """Has one object of each of three kinds say what no Karmada has ever taken."""
    spec, name = entry.manifest.get("spec", {}), entry.manifest["metadata"]["name"]
    if entry.plural in ("resourcebindings", "propagationpolicies") and name.startswith("app-00"):
        spec["failover"] = {"application": {"decisionConditions": {}, "purgeMode": "Sometimes"}}
    elif entry.plural == "propagationpolicies" and name.startswith("app-01"):
        spec["failover"] = {"application": {"decisionConditions": {}, "purgeMode": "Graciously"}}
    elif entry.plural == "clusters" and name == "member2":
        spec["syncMode"] = "Sideways"


def test_a_plan_names_every_stored_object_that_cannot_be_read_and_every_old_word() -> None:
    async def run() -> None:
        async with RecordedWorld(as_stored=unreadable) as world:
            await world.sleep(5)
            found = {remark.about: remark for remark in (await plan(world.client, world.clock)).remarks}
            told = {about: each for about, each in found.items() if "cannot be read" in each.sentence}
            assert told.keys() == {
                "resourcebinding/default/app-00-deployment",
                "propagationpolicy/default/app-00",
                "cluster/member2",
            }
            binding = told["resourcebinding/default/app-00-deployment"]
            assert 'spec.failover.application.purgeMode: Unsupported value: "Sometimes"' in binding.sentence
            assert binding.next == "kubectl edit resourcebindings.work.karmada.io app-00-deployment -n default"
            old = found["propagationpolicy/default/app-01"]
            assert "Graciously is read as Gracefully; write Gracefully" in old.sentence

    run_virtual(run())


@pytest.mark.long
def test_what_was_stored_with_old_purge_modes_fails_over() -> None:
    async def run() -> None:
        async with RecordedWorld(as_stored=with_old_words) as world:
            await world.sleep(5)
            agent = KarmadaAgent(world, world.member("member3"))
            agent.start()
            world.start_controllers()
            await world.sleep(120)
            await world.member("member1").stop()
            await world.sleep(FAILOVER_SECONDS)
            bindings = (await world.client.list(RESOURCE_BINDINGS)).items
            left = [each.name for each in bindings if any(t.name == "member1" for t in each.spec.clusters)]
            assert (len(bindings), len(left)) == (52, NAMES_EVERY_CLUSTER)
            assert not any(each.spec.graceful_eviction_tasks for each in bindings)
            policies = (await world.client.list(PROPAGATION_POLICIES)).items
            asked = [each.spec.failover.application for each in policies if each.spec.failover is not None]
            assert {each.purge_mode for each in asked if each is not None} == {"Gracefully", "Directly"}
            await agent.stop()

    run_virtual(run())
