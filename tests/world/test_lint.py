"""Findings of `leeward lint` in a control plane are what an outage then shows; and looking writes nothing."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, NotFound
from kubecluster.network import LinkedTransport
from leeward.answers.reading import read_fleet
from leeward.lint.checking import lint
from leeward.lint.findings import LintReport
from leeward.lint.live import read_objects
from leeward.lint.objects import LintObject
from leeward.lint.picture import LintPicture, objects_of
from leeward.sim.world import ADMIN, World
from tests.world.pictures import Requests
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, apply, deployment, held, in_world, policy

HIDDEN = "aGlkZGVu"
"""Text that is never asked for: the value of a Secret."""
SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
OUTAGE = 1500
ALL = ["member1", "member2", "member3"]
ONE_OF: Manifest = {
    "clusterAffinities": [
        {"affinityName": "home", "clusterNames": ["member1"]},
        {"affinityName": "spare", "clusterNames": ["member2"]},
    ]
}
FOR_EVER: Manifest = {**ONE_OF, "clusterTolerations": [{"operator": "Exists"}]}
SOLO: Manifest = {
    "clusterAffinity": {"clusterNames": ["member1"]},
    "replicaScheduling": {"replicaSchedulingType": "Divided"},
}
DIVIDED: Manifest = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
}
HARD: Manifest = {
    "clusterAffinity": {"clusterNames": ALL},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 3, "maxGroups": 3}],
    "replicaScheduling": DIVIDED,
}


def reading(name: str, kind: str) -> Manifest:
    """A Deployment that reads an object of its own name."""
    source = {"configMap": {"name": name}} if kind == "ConfigMap" else {"secret": {"secretName": name}}
    made = deployment(name, 2)
    made["spec"]["template"]["spec"]["volumes"] = [{"name": "settings", **source}]
    return made


async def populate(world: World) -> None:
    """`good` and `taken` move with all they need, `needy` without it, and the others stay."""
    for name, placement in {"good": ONE_OF, "for-ever": FOR_EVER, "solo": SOLO, "hard": HARD}.items():
        await apply(world.client, deployment(name, 3), policy(name, placement))
    settings: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "needy"}, "data": {"a": "b"}}
    secret: Manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "taken"}, "data": {"a": HIDDEN}}
    await world.client.create(CONFIG_MAPS, settings, "default")
    await world.client.create(SECRETS, secret, "default")
    taking = policy("taken", ONE_OF)
    taking["spec"]["propagateDeps"] = True
    await apply(world.client, reading("needy", "ConfigMap"), policy("needy", ONE_OF))
    await apply(world.client, reading("taken", "Secret"), taking)
    await world.sleep(120)


async def look(world: World) -> tuple[LintReport, list[LintObject]]:
    client = Client(LinkedTransport(world.place, ADMIN), "leeward")
    state = await read_fleet(client, world.clock, "world")
    objects, unseen = await read_objects(client, state)
    picture = LintPicture([*objects_of(state), *objects], state, is_whole=True)
    return lint(picture, "world", (), unseen), objects


async def has(world: World, member: str, resource: Resource[Manifest], name: str) -> bool:
    try:
        await world.member(member).client.get(resource, name, "default")
    except NotFound:
        return False
    return True


@pytest.mark.long
@in_world()
async def test_what_is_found_is_what_an_outage_then_shows(world: World) -> None:
    await populate(world)
    report, _ = await look(world)
    assert (report.unseen, report.unasked) == ((), [])
    assert {(finding.rule, finding.about) for finding in report.findings} == {
        ("LW002", "PropagationPolicy default/for-ever"),
        ("LW003", "PropagationPolicy default/solo"),
        ("LW004", "PropagationPolicy default/hard"),
        ("LW009", "Deployment default/needy"),
    }
    assert set(world.assigned("hard-deployment")) == set(ALL)
    names = ("good", "for-ever", "solo", "needy", "taken")
    before = {name: [*world.assigned(f"{name}-deployment")] for name in names}
    assert set(map(tuple, before.values())) == {("member1",)}
    await world.member("member1").stop()
    await world.sleep(OUTAGE)
    stay = {name for name in names if "member1" in world.assigned(f"{name}-deployment")}
    assert stay == {"for-ever", "solo"}
    assert "member1" in world.assigned("hard-deployment")
    assert [held(world, f"{name}-deployment") for name in ("for-ever", "solo", "hard")] == [
        "",
        "NoPlaceToGo",
        "NoPlaceToGo",
    ]
    [there] = world.assigned("needy-deployment")
    assert await has(world, there, DEPLOYMENTS, "needy")
    assert not await has(world, there, CONFIG_MAPS, "needy")
    [taken] = world.assigned("taken-deployment")
    assert await has(world, taken, SECRETS, "taken")


@in_world()
async def test_looking_writes_nothing_and_asks_for_no_secret(world: World) -> None:
    await populate(world)
    requests = Requests(world)
    _, objects = await look(world)
    assert set(requests.methods) == {"GET"}
    secrets = [each for each in objects if (each.kind, each.name) == ("Secret", "taken")]
    assert [each.manifest.get("data") for each in secrets] == [None]
    assert HIDDEN not in str([each.manifest for each in objects])
