"""ClusterRoles that are made of others."""

import asyncio

from kubeapi.meta import Manifest
from kubeserver.auth.authorization.bootstrap import bootstrap_roles
from kubeserver.controllers.role_aggregation import aggregated_rules
from kubeserver.values import entries, texts
from tests.kubeserver.api_world import ApiWorld, tell

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
VIEWED = "rbac.authorization.k8s.io/aggregate-to-view"


def role(name: str, resource: str, **labels: str) -> Manifest:
    rule = {"apiGroups": ["example.com"], "resources": [resource], "verbs": ["get"]}
    return {"metadata": {"name": name, "labels": labels}, "rules": [rule]}


def aggregated(name: str, label: str) -> Manifest:
    selectors = [{"matchLabels": {label: "yes"}}]
    return {"metadata": {"name": name}, "aggregationRule": {"clusterRoleSelectors": selectors}}


async def resources_of(world: ApiWorld, name: str) -> set[str]:
    await asyncio.sleep(1)
    rules = entries((await world.get(f"{ROLES}/{name}")).body, "rules")
    return {resource for rule in rules for resource in texts(rule, "resources")}


def test_a_new_server_has_nothing_to_aggregate():
    roles = bootstrap_roles()
    for each in (each for each in roles if "aggregationRule" in each):
        wanted = aggregated_rules(each, roles)
        assert all(rule in each["rules"] for rule in wanted)
        assert all(rule in wanted for rule in each["rules"])


def test_a_role_has_the_rules_of_those_that_it_selects_as_they_come_and_go():
    async def story(world: ApiWorld) -> None:
        await world.create(ROLES, aggregated("all", "wanted"))
        await world.create(ROLES, role("a", "apples", wanted="yes"))
        await world.create(ROLES, role("b", "bananas", wanted="no"))
        assert await resources_of(world, "all") == {"apples"}
        await world.patch(f"{ROLES}/b", {"metadata": {"labels": {"wanted": "yes"}}})
        assert await resources_of(world, "all") == {"apples", "bananas"}
        await world.delete(f"{ROLES}/a")
        assert await resources_of(world, "all") == {"bananas"}

    tell(story)


def test_what_is_added_to_viewing_is_added_to_editing_and_administering():
    async def story(world: ApiWorld) -> None:
        await world.create(ROLES, role("widgets", "widgets", **{VIEWED: "true"}))
        for name in ("view", "edit", "admin"):
            found = await resources_of(world, name)
            assert {"widgets", "pods", "deployments"} <= found

    tell(story)


def test_rules_that_somebody_wrote_into_an_aggregated_role_do_not_last():
    async def story(world: ApiWorld) -> None:
        await world.create(ROLES, {**aggregated("all", "wanted"), "rules": role("x", "pears")["rules"]})
        assert await resources_of(world, "all") == set()

    tell(story)
