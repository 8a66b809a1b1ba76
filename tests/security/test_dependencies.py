"""Dependencies reach no further than the namespace of what names them.

The attacker has: every right to Deployments and ResourceBindings in the namespace `tenant`, nothing else in the control
plane.
They do: write bindings with `propagateDeps`, and with dependencies, `requiredBy` and labels of their own making, which
speak of another tenant.
They must not get: an object of another namespace into a member, a change of anybody's binding, nor a control plane that
writes without end.

Each attack is made where admission is asked, and where it is not.
"""

import pytest

from kubeapi.codec import encode
from kubeapi.core import SECRETS
from kubeapi.meta import Manifest
from leeward.api.names import DEPENDENCIES_ANNOTATION, depended_by_label
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.sim.world import World
from tests.security.worlds import UnaskedWorld, namespaces, play_in, user_with, written
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS
from tests.world.test_dependencies import config, reading

STOLEN = {"apiVersion": "v1", "kind": "Secret", "namespace": "victim", "name": "stolen"}


def forged(name: str, kind: str, api_version: str, namespace: str, owner: str) -> Manifest:
    """A binding that says that it is needed by others, and has dependencies elsewhere."""
    clusters = [{"name": "member1"}]
    return {
        "metadata": {
            "name": f"{name}-{kind.lower()}",
            "labels": {depended_by_label(namespace, owner): "forged"},
            "annotations": {DEPENDENCIES_ANNOTATION: encode([STOLEN]).decode()},
            "finalizers": ["karmada.io/binding-controller"],
        },
        "spec": {
            "resource": {"apiVersion": api_version, "kind": kind, "namespace": "tenant", "name": name},
            "propagateDeps": True,
            "clusters": clusters,
            "requiredBy": [{"name": owner, "namespace": namespace, "clusters": clusters}],
        },
    }


@pytest.mark.parametrize("kind", [World, UnaskedWorld])
def test_what_a_tenant_names_and_forges_moves_nothing_of_others(kind: type[World]) -> None:
    async def story(world: World) -> None:
        await namespaces(world, "tenant", "victim")
        await world.client.create(SECRETS, {"metadata": {"name": "stolen"}}, "victim")
        await world.client.create(CONFIG_MAPS, config("settings"), "victim")
        await world.client.create(CONFIG_MAPS, config("settings"), "tenant")
        await world.sleep(10)
        mallory = await user_with(world, "mallory", "tenant", "work.karmada.io", "resourcebindings")
        farmer = await user_with(world, "farmer", "tenant", "apps", "deployments")
        await farmer.create(DEPLOYMENTS, reading("web", "settings", "stolen"), "tenant")
        await mallory.create(RESOURCE_BINDINGS, forged("web", "Deployment", "apps/v1", "victim", "x"), "tenant")
        await mallory.create(
            RESOURCE_BINDINGS, forged("settings", "ConfigMap", "v1", "victim", "web-deployment"), "tenant"
        )
        await mallory.create(RESOURCE_BINDINGS, forged("ghost", "Secret", "v1", "tenant", "nobody"), "tenant")
        await world.sleep(60)
        member = world.member("member1").client
        assert [secret.name for secret in (await member.list(SECRETS, "victim")).items] == []
        assert [each["metadata"]["name"] for each in (await member.list(CONFIG_MAPS, "victim")).items] == []
        assert (await world.client.list(RESOURCE_BINDINGS, "victim")).items == ()
        assert (await member.get(CONFIG_MAPS, "settings", "tenant"))["data"] == {"value": "1"}, (
            "what is theirs goes along"
        )
        own = await world.client.get(RESOURCE_BINDINGS, "web-deployment", "tenant")
        assert "victim" not in own.metadata.annotations[DEPENDENCIES_ANNOTATION], "what the template says counts"
        writes = written(world, "/resourcebindings/")
        await world.sleep(120)
        assert writes == [], "and then there is rest"

    play_in(kind, story, {"member1": "Push"})
