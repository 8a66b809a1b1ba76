"""Server-side apply in several versions: everybody's fields are compared in the version in which they own them."""

from typing import Any

from kubeapi.meta import Manifest
from tests.kubeserver.api_world import DEFINITIONS, WIDGETS, Answer, ApiWorld, tell, widgets

FIRST, SECOND = (f"/apis/autoscaling/v{number}/namespaces/default/horizontalpodautoscalers/h" for number in (1, 2))
NEWER_WIDGETS = WIDGETS.replace("v1", "v2")


async def _apply(world: ApiWorld, path: str, body: Manifest, manager: str, **query: str) -> Answer:
    return await world.patch(path, body, "application/apply-patch+yaml", fieldManager=manager, **query)


def _autoscaler(version: str, **spec: Any) -> Manifest:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"maxReplicas": 5, "scaleTargetRef": target, **spec}
    kind = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler"}
    return {**kind, "metadata": {"name": "h"}, "spec": spec}


def _cpu(percent: int) -> list[Manifest]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def _owned(answer: Answer) -> dict[str, tuple[str, set[str]]]:
    """The version and the fields of the spec that each manager owns."""
    return {
        entry["manager"]: (entry["apiVersion"], {name[2:] for name in entry["fieldsV1"].get("f:spec", {})} - {"."})
        for entry in answer.body["metadata"].get("managedFields", [])
    }


def _gadgets() -> Manifest:
    """Widgets whose second version has a field more, and knows nothing of the color."""
    definition = widgets()
    first = {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}}
    second = {"type": "object", "properties": {"size": {"type": "integer"}, "shape": {"type": "string"}}}
    definition["spec"]["versions"] = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        }
        for name, spec in (("v1", first), ("v2", second))
    ]
    return definition


def _gadget(version: str, **spec: Any) -> Manifest:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def test_a_conflict_is_found_under_the_name_that_the_owner_knows():
    async def story(world: ApiWorld) -> None:
        await _apply(world, FIRST, _autoscaler("v1", targetCPUUtilizationPercentage=50), "old")
        refused = await _apply(world, SECOND, _autoscaler("v2", metrics=_cpu(60)), "new")
        assert refused.code == 409
        assert [cause["field"] for cause in refused.body["details"]["causes"]] == [
            ".spec.targetCPUUtilizationPercentage"
        ]
        forced = await _apply(world, SECOND, _autoscaler("v2", metrics=_cpu(60)), "new", force="true")
        assert _owned(forced) == {
            "old": ("autoscaling/v1", {"maxReplicas", "scaleTargetRef"}),
            "new": ("autoscaling/v2", {"maxReplicas", "scaleTargetRef", "metrics"}),
        }

    tell(story)


def test_the_same_value_in_another_version_is_shared():
    async def story(world: ApiWorld) -> None:
        await _apply(world, FIRST, _autoscaler("v1", targetCPUUtilizationPercentage=50), "old")
        answer = await _apply(world, SECOND, _autoscaler("v2", metrics=_cpu(50)), "new")
        assert answer.code == 200
        assert _owned(answer)["old"][1] == {"maxReplicas", "scaleTargetRef", "targetCPUUtilizationPercentage"}

    tell(story)


def test_what_was_applied_in_one_version_is_taken_back_in_another():
    async def story(world: ApiWorld) -> None:
        await _apply(world, FIRST, _autoscaler("v1", targetCPUUtilizationPercentage=50, minReplicas=2), "one")
        answer = await _apply(world, SECOND, _autoscaler("v2", metrics=_cpu(50)), "one")
        assert answer.body["spec"]["minReplicas"] == 1
        assert _owned(answer) == {"one": ("autoscaling/v2", {"maxReplicas", "scaleTargetRef", "metrics"})}

    tell(story)


def test_what_somebody_owns_in_another_version_stays_when_it_is_forgotten():
    async def story(world: ApiWorld) -> None:
        await _apply(world, FIRST, _autoscaler("v1", targetCPUUtilizationPercentage=50), "one")
        await _apply(world, SECOND, _autoscaler("v2", metrics=_cpu(50)), "two")
        answer = await _apply(world, FIRST, _autoscaler("v1"), "one")
        assert answer.body["spec"]["targetCPUUtilizationPercentage"] == 50
        assert _owned(answer)["one"] == ("autoscaling/v1", {"maxReplicas", "scaleTargetRef"})
        alone = await _apply(world, SECOND, _autoscaler("v2"), "two")
        assert alone.body["spec"]["metrics"] == _cpu(80)

    tell(story)


def test_an_update_in_one_version_takes_what_others_own_in_theirs():
    async def story(world: ApiWorld) -> None:
        await _apply(world, FIRST, _autoscaler("v1", targetCPUUtilizationPercentage=50), "old")
        answer = await world.patch(SECOND, {"spec": {"metrics": _cpu(70)}}, fieldManager="hand")
        assert _owned(answer)["old"] == ("autoscaling/v1", {"maxReplicas", "scaleTargetRef"})
        assert _owned(answer)["hand"] == ("autoscaling/v2", {"metrics"})

    tell(story)


def test_who_owns_fields_of_a_version_that_is_gone_owns_nothing():
    async def story(world: ApiWorld) -> None:
        await _apply(world, f"{NEWER_WIDGETS}/w", _gadget("v2", size=1), "two")
        definition = (await world.get(f"{DEFINITIONS}/widgets.example.com")).body
        unserved = [{**version, "served": version["name"] == "v1"} for version in definition["spec"]["versions"]]
        answer = await world.patch(
            f"{DEFINITIONS}/widgets.example.com", {"spec": {"versions": unserved}}, fieldManager="x"
        )
        assert answer.code == 200
        refused = await _apply(world, f"{WIDGETS}/w", _gadget("v1", size=2), "one")
        assert refused.code == 409
        await world.patch(f"{DEFINITIONS}/widgets.example.com", {"spec": {"versions": unserved[:1]}}, fieldManager="x")
        answer = await _apply(world, f"{WIDGETS}/w", _gadget("v1", size=2), "one")
        assert _owned(answer) == {"one": ("example.com/v1", {"size"})}

    tell(story, [_gadgets()])
