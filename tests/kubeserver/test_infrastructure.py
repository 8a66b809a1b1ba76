"""Infrastructure of clusters: drivers, devices and flow control, kept for their controllers."""

from typing import Any

import pytest

from tests.kubeserver.api_world import TABLE, ApiWorld, tell

STORAGE, FLOW = "/apis/storage.k8s.io/v1", "/apis/flowcontrol.apiserver.k8s.io/v1"
DEVICES = "/apis/resource.k8s.io/v1"
CLAIMS = f"{DEVICES}/namespaces/default/resourceclaims"


def _request(**wanted: Any) -> dict[str, Any]:
    return {"devices": {"requests": [{"name": "gpu", **wanted}]}}


def test_drivers_devices_and_schemas_are_completed():
    async def story(world: ApiWorld) -> None:
        driver = await world.create(f"{STORAGE}/csidrivers", {"metadata": {"name": "d"}, "spec": {}})
        assert driver.body["spec"]["volumeLifecycleModes"] == ["Persistent"]
        claim = await world.create(
            CLAIMS, {"metadata": {"name": "c"}, "spec": _request(exactly={"deviceClassName": "x"})}
        )
        wanted = claim.body["spec"]["devices"]["requests"][0]["exactly"]
        assert wanted == {"deviceClassName": "x", "allocationMode": "ExactCount", "count": 1}
        limited = {"limitResponse": {"type": "Queue"}}
        level = {"metadata": {"name": "l"}, "spec": {"type": "Limited", "limited": limited}}
        made = await world.create(f"{FLOW}/prioritylevelconfigurations", level)
        assert made.body["spec"]["limited"]["limitResponse"]["queuing"]["queues"] == 64

    tell(story)


USELESS: list[tuple[str, dict[str, Any], str]] = [
    (CLAIMS, _request(), "exactly one of `exactly` or `firstAvailable` is required"),
    (CLAIMS, _request(exactly={}), "spec.devices.requests[0].exactly.deviceClassName: Required value"),
    (f"{FLOW}/flowschemas", {}, "spec.priorityLevelConfiguration.name: Required value"),
    (f"{FLOW}/flowschemas", {"matchingPrecedence": 10_001}, "spec.matchingPrecedence: Invalid value: 10001"),
    (f"{FLOW}/flowschemas", {"rules": [{}]}, "spec.rules[0].subjects: Required value"),
    (f"{FLOW}/prioritylevelconfigurations", {"type": "Odd"}, 'spec.type: Unsupported value: "Odd"'),
    (
        f"{FLOW}/prioritylevelconfigurations",
        {"type": "Exempt", "limited": {}},
        "spec.limited: Forbidden: must be nil if the type is not Limited",
    ),
]


@pytest.mark.parametrize(("path", "spec", "said"), USELESS)
def test_what_no_controller_could_use_is_refused(path: str, spec: dict[str, Any], said: str):
    async def story(world: ApiWorld) -> None:
        refused = await world.create(path, {"metadata": {"name": "a"}, "spec": spec})
        assert refused.code == 422
        assert said in refused.body["message"]

    tell(story)


def test_a_claim_is_shown_with_its_state():
    async def story(world: ApiWorld) -> None:
        await world.create(CLAIMS, {"metadata": {"name": "c"}, "spec": _request(exactly={"deviceClassName": "x"})})
        table = (await world.call("GET", f"{CLAIMS}/c", accept=TABLE)).body
        assert table["rows"][0]["cells"][:2] == ["c", "pending"]
        changed = await world.patch(f"{CLAIMS}/c", {"spec": {"devices": {"requests": []}}})
        assert "field is immutable" in changed.body["message"]

    tell(story)


def test_nobody_says_whether_the_level_of_a_flow_schema_is_there():
    async def story(world: ApiWorld) -> None:
        spec = {"priorityLevelConfiguration": {"name": "none"}, "matchingPrecedence": 7}
        await world.create(f"{FLOW}/flowschemas", {"metadata": {"name": "s"}, "spec": spec})
        table = (await world.call("GET", f"{FLOW}/flowschemas/s", accept=TABLE)).body
        assert [column["name"] for column in table["columnDefinitions"]][-2:] == ["Age", "MissingPL"]
        cells = table["rows"][0]["cells"]
        assert [*cells[:4], cells[-1]] == ["s", "none", 7, "<none>", "?"]

    tell(story)
