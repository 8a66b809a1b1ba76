"""Policies with regular expressions, which let through ordinary objects, and not what would hold up the server."""

import pytest

from kubeapi.meta import Manifest
from tests.kubeserver.api_world import CONFIG_MAPS, DEPLOYMENTS, ApiWorld, config_map, deployment, tell
from tests.kubeserver.test_policies import install, policy

IMAGE = "^registry.example.com/[a-z0-9./-]+(:[a-zA-Z0-9._-]{1,128}|@sha256:[a-f0-9]{64})$"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize("containers", ["", " + object.spec.template.spec.?initContainers.orValue([])"])
def test_a_deployment_with_many_variables_and_a_long_annotation_meets_rules_for_its_images(containers: str) -> None:
    members = (
        f"(object.spec.template.spec.containers{containers})" if containers else "object.spec.template.spec.containers"
    )
    rule: Manifest = {"expression": f"{members}.all(c, c.image.matches('{IMAGE}'))"}

    async def story(world: ApiWorld) -> None:
        await install(world, policy(rule, {**rule, "message": "again"}, resource="deployments", group="apps"))
        made = deployment("web")
        made["metadata"]["annotations"] = {APPLIED: "x" * 20_000}
        container = made["spec"]["template"]["spec"]["containers"][0]
        container |= {"image": "registry.example.com/shop/web:1.2", "env": [{"name": f"E{n}"} for n in range(40)]}
        answer = await world.create(DEPLOYMENTS, made)
        assert answer.code == 201, answer.body
        container["image"] = "elsewhere.example.com/web:1.2"
        refused = await world.create(DEPLOYMENTS, {**made, "metadata": {"name": "other"}})
        assert (refused.code, "running out of cost budget" in refused.body["message"]) == (422, False)

    tell(story)


def test_a_config_map_with_a_long_text_meets_a_rule_for_its_keys() -> None:
    async def story(world: ApiWorld) -> None:
        await install(world, policy({"expression": f"object.data.all(k, k.matches('{IMAGE}') || true)"}))
        data = {f"k{n}": "x" for n in range(30)} | {"big": "x" * 50_000}
        answer = await world.create(CONFIG_MAPS, config_map("large", **data))
        assert answer.code == 201, answer.body

    tell(story)


def test_texts_that_a_variable_has_multiplied_are_paid_for() -> None:
    """The list that a variable has made is walked along as a member of the object would be, and is no part of it."""
    variables = [{"name": "texts", "expression": "object.data.map(k, object.data.big)"}]
    rules: list[Manifest] = [{"expression": f"variables.texts.all(t, t.matches('{IMAGE}{n}') || true)"} for n in (1, 2)]

    async def story(world: ApiWorld) -> None:
        await install(world, policy(*rules, variables=variables))
        data = {f"k{n}": "x" for n in range(60)} | {"big": "x" * 50_000}
        refused = await world.create(CONFIG_MAPS, config_map("large", **data))
        assert (refused.code, "running out of cost budget" in refused.body["message"]) == (422, True)

    tell(story)
