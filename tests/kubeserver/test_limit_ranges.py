"""LimitRanges: defaults and bounds of containers, Pods and claims."""

from typing import Any

import pytest

from tests.kubeserver.api_world import PODS, Answer, ApiWorld, pod, tell
from tests.kubeserver.webhooks import MUTATING, InProcessWebhooks, configuration, patch, rule, webhook

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
LIMITS = "/api/v1/namespaces/default/limitranges"


async def _limit(world: ApiWorld, name: str = "limits", **limit: Any) -> Answer:
    return await world.create(
        LIMITS, {"metadata": {"name": name}, "spec": {"limits": [{"type": "Container", **limit}]}}
    )


def _wanting(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> dict[str, Any]:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"containers": [{"name": "c", "image": "i", "resources": resources}]}


def _claim(name: str, storage: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {"metadata": {"name": name}, "spec": spec}


def test_a_limit_range_is_completed_as_it_is_stored():
    async def story(world: ApiWorld) -> None:
        made = await _limit(world, max={"cpu": 2, "memory": "1Gi"}, min={"cpu": "100m", "pods": "1"})
        limit = made.body["spec"]["limits"][0]
        assert limit["default"] == {"cpu": "2", "memory": "1Gi"}
        assert limit["defaultRequest"] == {"cpu": "2", "memory": "1Gi", "pods": "1"}

    tell(story)


def test_containers_get_what_they_do_not_say():
    async def story(world: ApiWorld) -> None:
        await _limit(world, default={"cpu": "500m", "memory": "512Mi"}, defaultRequest={"cpu": "250m"})
        containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "i", "resources": {"limits": {"cpu": "1"}}}]
        made = (await world.create(PODS, pod("p", containers=containers))).body
        first, second = (container["resources"] for container in made["spec"]["containers"])
        assert first == {
            "limits": {"cpu": "500m", "memory": "512Mi"},
            "requests": {"cpu": "250m", "memory": "512Mi"},
        }
        assert second == {
            "limits": {"cpu": "1", "memory": "512Mi"},
            "requests": {"cpu": "1", "memory": "512Mi"},
        }
        assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
            "LimitRanger plugin set: cpu, memory request for container a; cpu, memory limit for container a; "
            "memory request for container b; memory limit for container b"
        )
        assert made["status"]["qosClass"] == "Burstable"

    tell(story)


BEYOND: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"max": {"cpu": "1"}},
        _wanting({"cpu": "1"}, {"cpu": "2"}),
        "maximum cpu usage per Container is 1, but limit is 2",
    ),
    (
        {"min": {"cpu": "200m"}},
        _wanting({"cpu": "100m"}),
        "minimum cpu usage per Container is 200m, but request is 100m",
    ),
    (
        {"maxLimitRequestRatio": {"cpu": "2"}},
        _wanting({"cpu": "1"}, {"cpu": "3"}),
        "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
    ),
    (
        {"maxLimitRequestRatio": {"cpu": "2"}},
        _wanting(),
        "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
    ),
    (
        {"type": "Pod", "max": {"memory": "1Gi"}},
        _wanting(),
        "maximum memory usage per Pod is 1Gi.  No limit is specified",
    ),
    (
        {"type": "Pod", "min": {"memory": "1Gi"}},
        _wanting({"memory": "1Mi"}),
        "minimum memory usage per Pod is 1Gi, but request is 1Mi",
    ),
    (
        {"type": "Pod", "max": {"cpu": "1"}},
        {**_wanting({"cpu": "1"}, {"cpu": "1"}), "resources": {"limits": {"cpu": "2"}}},
        "maximum cpu usage per Pod is 1, but limit is 2",
    ),
]


@pytest.mark.parametrize(("limit", "spec", "said"), BEYOND)
def test_what_is_out_of_bounds_is_refused(limit: dict[str, Any], spec: dict[str, Any], said: str):
    async def story(world: ApiWorld) -> None:
        assert (await _limit(world, **limit)).code == 201
        refused = await world.create(PODS, pod("p", **spec))
        assert refused.code == 403
        assert refused.body["message"] == f'pods "p" is forbidden: {said}'

    tell(story)


def test_a_pod_wants_as_much_as_its_containers_together_or_the_greatest_before_them():
    async def story(world: ApiWorld) -> None:
        await _limit(world, type="Pod", max={"cpu": "3"})
        beside = {**_wanting({"cpu": "1"}, {"cpu": "1"})["containers"][0], "name": "beside", "restartPolicy": "Always"}
        first = {**_wanting({"cpu": "2500m"}, {"cpu": "2500m"})["containers"][0], "name": "first"}
        fits = _wanting({"cpu": "2"}, {"cpu": "2"})
        assert (await world.create(PODS, pod("a", **fits, initContainers=[beside]))).code == 201
        assert (await world.create(PODS, pod("b", **fits, initContainers=[first]))).code == 201
        refused = await world.create(PODS, pod("c", **fits, initContainers=[beside, first]))
        assert "maximum cpu usage per Pod is 3, but limit is 3500m" in refused.body["message"]

    tell(story)


def test_the_bounds_of_claims_hold_when_they_grow_and_spare_what_is_stored():
    async def story(world: ApiWorld) -> None:
        await world.create(CLAIMS, _claim("data", "2Gi"))
        await world.patch(f"{CLAIMS}/data/status", {"status": {"phase": "Bound"}})
        await _limit(world, type="PersistentVolumeClaim", min={"storage": "4Gi"}, max={"storage": "8Gi"})
        assert (await world.patch(f"{CLAIMS}/data", {"metadata": {"labels": {"a": "b"}}})).code == 200
        grown = await world.patch(f"{CLAIMS}/data", {"spec": {"resources": {"requests": {"storage": "9Gi"}}}})
        assert "maximum storage usage per PersistentVolumeClaim is 8Gi, but request is 9Gi" in grown.body["message"]
        small = await world.create(CLAIMS, _claim("small", "3Gi"))
        assert "minimum storage usage per PersistentVolumeClaim is 4Gi, but request is 3Gi" in small.body["message"]

    tell(story)


def test_bounds_hold_for_what_a_webhook_made_of_a_pod():
    limits = {"limits": {"cpu": "1"}}
    bound = patch({"op": "add", "path": "/spec/containers/0/resources", "value": limits})

    async def story(world: ApiWorld) -> None:
        await _limit(world, type="Pod", max={"cpu": "1"})
        assert (await world.create(PODS, pod("plain"))).code == 403
        await world.create(MUTATING, configuration("Mutating", "limits", webhook("bound", rule("pods"))))
        assert (await world.create(PODS, pod("mended"))).code == 201

    tell(story, webhook_client=InProcessWebhooks(bound=bound))


USELESS: list[tuple[dict[str, Any], str]] = [
    ({"max": {"cpu": "1"}, "default": {"cpu": "2"}}, "default value 2 is greater than max value 1"),
    ({"min": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}, "min value 2 is greater than default request value 1"),
    ({"maxLimitRequestRatio": {"cpu": "500m"}}, "ratio 500m is less than 1"),
    (
        {"min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}},
        "ratio 3 is greater than max/min = 2.000000",
    ),
    ({"type": "PersistentVolumeClaim", "max": {"cpu": "1"}}, "either minimum or maximum storage value is required"),
]


@pytest.mark.parametrize(("limit", "said"), USELESS)
def test_limits_that_contradict_each_other_are_refused(limit: dict[str, Any], said: str):
    async def story(world: ApiWorld) -> None:
        refused = await _limit(world, **limit)
        assert refused.code == 422
        assert said in refused.body["message"]

    tell(story)
