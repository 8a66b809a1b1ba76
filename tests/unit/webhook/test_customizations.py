"""Customizations, also where the API server is not ours: what the webhook refuses, the embedded server refuses too."""

from typing import Any

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import Client
from leeward.api.schema import custom_resource_definitions
from leeward.webhook.store_rules import SECONDS, judge_customization
from tests.kubeserver.api_world import api_world
from tests.transports import Deaf
from tests.verdicts import assert_judged, assert_not_told

GROUP, PLURAL = "config.karmada.io", "resourceinterpretercustomizations"
RESOURCE = {"group": GROUP, "version": "v1alpha1", "resource": PLURAL}
HEALTHY = "function InterpretHealth(o) return true end"
DEPENDENT = "function GetDependencies(o) return {} end"


def customization(name: str, kind: str = "Farm", **scripts: str) -> Manifest:
    rules = {field: {"luaScript": text} for field, text in scripts.items()}
    spec = {"target": {"apiVersion": "example.com/v1", "kind": kind}, "customizations": rules}
    head = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "ResourceInterpreterCustomization"}
    return {**head, "metadata": {"name": name}, "spec": spec}


def request(new: Manifest, operation: str = "CREATE") -> dict[str, Any]:
    return {"operation": operation, "object": new, "resource": RESOURCE}


THERE = customization("farms", healthInterpretation=HEALTHY, dependencyInterpretation=DEPENDENT)
TAKEN = "spec.customizations.healthInterpretation: Forbidden: farms answers this for example.com/v1 Farm already"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (request(customization("b", retention="function Retain(o) return o end")), ""),
        (request(customization("b", "Barn", healthInterpretation=HEALTHY)), ""),
        (request(customization("b", dependencyInterpretation=DEPENDENT)), ""),
        (request(THERE, "UPDATE"), ""),
        (request(customization("b", healthInterpretation=HEALTHY)), TAKEN),
        (request(customization("b", healthInterpretation=HEALTHY), "UPDATE"), TAKEN),
        (request(customization("b", retention="function Retain(")), "spec.customizations.retention.luaScript: Invalid"),
        ({**request(customization("b", retention="(")), "operation": "DELETE"}, ""),
        ({**request(customization("b", retention="(")), "resource": {"group": "apps", "resource": "deployments"}}, ""),
    ],
)
def test_what_is_broken_or_answered_already_is_refused(asked: dict[str, Any], says: str) -> None:
    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as world:
            await world.create(f"/apis/{GROUP}/v1alpha1/{PLURAL}", THERE)
            assert_judged(await judge_customization(asked, Client(world.transport)), says)

    run_virtual(story())


@pytest.mark.parametrize(("hangs", "says"), [(False, "connection refused"), (True, f"no answer within {SECONDS:g} s")])
def test_what_cannot_be_told_is_refused_for_now(says: str, *, hangs: bool) -> None:
    async def story() -> None:
        assert_not_told(await judge_customization(request(THERE), Client(Deaf(hangs=hangs))), says)

    run_virtual(story())
