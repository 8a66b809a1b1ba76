"""Admission webhooks: where they are, how long they may take, and what happens when they fail."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.webhooks.configuration import Configured
from tests.kubeserver.api_world import (
    CONFIG_MAPS,
    ApiWorld,
    config_map,
    tell,
)
from tests.kubeserver.webhooks import (
    MUTATING,
    VALIDATING,
    InProcessWebhooks,
    allow,
    mutating,
    rule,
    validating,
    webhook,
)


def test_a_webhook_that_fails_refuses_the_request_or_is_passed_over_as_its_policy_says():
    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("open", webhook("gone", failurePolicy="Ignore")))
        assert (await world.create(CONFIG_MAPS, config_map("a"))).code == 201
        await world.create(VALIDATING, validating("closed", webhook("gone")))
        refused = await world.create(CONFIG_MAPS, config_map("b"))
        assert refused.code == 500
        assert 'failed calling webhook "gone.example.com"' in refused.body["message"]
        assert "nobody listens at https://webhooks.example/gone" in refused.body["message"]

    tell(story, webhook_client=InProcessWebhooks())


def test_a_webhook_has_its_time_and_no_more():
    hooks = InProcessWebhooks(judge=allow)
    hooks.delay_seconds = 3.0

    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("a", webhook("judge", timeoutSeconds=2)))
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert refused.code == 500
        assert "https://webhooks.example/judge: no answer within 2 s" in refused.body["message"]
        await world.patch(f"{VALIDATING}/a", {"webhooks": [webhook("judge", timeoutSeconds=4)]})
        assert (await world.create(CONFIG_MAPS, config_map("a"))).code == 201

    tell(story, webhook_client=hooks)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"uid": "another"}, "expected response.uid="),
        ({"patchType": "JSONPatch"}, "patchType but not response.patch"),
        ({"patch": "e30=", "patchType": "MergePatch"}, 'patchType="MergePatch"'),
        ({"patch": "***", "patchType": "JSONPatch"}, "no JSON in base64"),
        ({"patch": "W1tb" * 30_000, "patchType": "JSONPatch"}, "no JSON in base64"),
        ({"allowed": "yes"}, "no AdmissionReview"),
    ],
)
def test_an_answer_that_is_none_is_a_failure(fields: dict[str, Any], why: str):
    async def story(world: ApiWorld) -> None:
        await world.create(MUTATING, mutating("a", webhook("odd")))
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert refused.code == 500
        assert why in refused.body["message"]

    tell(story, webhook_client=InProcessWebhooks(odd=lambda request: fields))


def test_a_service_leads_to_its_ready_endpoints_or_its_external_name():
    hooks = InProcessWebhooks()
    services = "/api/v1/namespaces/default/services"
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

    async def story(world: ApiWorld) -> None:
        reference = {"namespace": "default", "name": "hook", "path": "/judge"}
        judge = webhook("judge", clientConfig={"service": reference, "caBundle": ""})
        await world.create(VALIDATING, validating("a", judge))
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert 'service "hook" not found in the namespace "default"' in refused.body["message"]
        service: Manifest = {"metadata": {"name": "hook"}, "spec": {"ports": [{"name": "tls", "port": 443}]}}
        await world.create(services, service)
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert 'no endpoints available for service "hook"' in refused.body["message"]
        endpoints = [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": False}},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": True}},
        ]
        metadata = {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}}
        port = {"name": "tls", "port": 8443}
        found = {"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints, "ports": [port]}
        assert (await world.create(slices, found)).code == 201
        await world.create(CONFIG_MAPS, config_map("a"))
        last = hooks.addresses[-1]
        assert (last.url, last.server_name) == ("https://10.0.0.2:8443/judge", "hook.default.svc")
        external = {"spec": {"type": "ExternalName", "externalName": "hooks.example"}}
        assert (await world.patch(f"{services}/hook", external)).code == 200
        await world.create(CONFIG_MAPS, config_map("a"))
        assert hooks.addresses[-1].url == "https://hooks.example:443/judge"

    tell(story, webhook_client=hooks)


@pytest.mark.parametrize("path", [VALIDATING, MUTATING])
def test_a_webhook_that_is_nowhere_is_passed_over_where_the_embedding_program_says_so(path: str):
    hooks, asked = InProcessWebhooks(), set[tuple[str, str, str]]()
    make = validating if path == VALIDATING else mutating

    def passed_over(webhook: Configured) -> bool:
        asked.add((webhook.plural, webhook.configuration, webhook.webhook.name))
        return webhook.configuration == "elsewhere"

    async def story(world: ApiWorld) -> None:
        service = {"service": {"namespace": "default", "name": "hook"}}
        odd = {"sideEffects": "NoneOnDryRun", "matchConditions": [{"name": "odd", "expression": "object.spec.x == 1"}]}
        await world.create(path, make("elsewhere", webhook("judge", clientConfig=service, **odd)))
        assert (await world.create(CONFIG_MAPS, config_map("a"))).code == 201
        assert (await world.create(CONFIG_MAPS, config_map("b"), dryRun="All")).code == 201
        assert asked == {(path.rpartition("/")[2], "elsewhere", "judge.example.com")}
        await world.create(path, make("here", webhook("judge", clientConfig=service)))
        assert (await world.create(CONFIG_MAPS, config_map("c"))).code == 500
        await world.delete(f"{path}/here")
        url = "https://webhooks.example/gone"
        await world.create(path, make("elsewhere-by-url", webhook("judge", clientConfig={"url": url})))
        assert (await world.create(CONFIG_MAPS, config_map("c"))).code == 500, "a URL leads somewhere"

    tell(story, webhook_client=hooks, passed_over=passed_over)


def test_a_configuration_is_defaulted_and_a_wrong_one_is_refused_field_by_field():
    wrong = {
        "name": "short",
        "clientConfig": {"url": "http://plain.example"},
        "rules": [{**rule("pods"), "operations": ["READ"]}],
        "timeoutSeconds": 31,
        "admissionReviewVersions": ["v1beta1"],
        "matchConditions": [{"name": "odd", "expression": "object."}],
    }

    async def story(world: ApiWorld) -> None:
        created = (await world.create(MUTATING, mutating("a", webhook("ok")))).body["webhooks"][0]
        assert (created["failurePolicy"], created["matchPolicy"]) == ("Fail", "Equivalent")
        assert (created["timeoutSeconds"], created["reinvocationPolicy"]) == (10, "Never")
        assert (created["namespaceSelector"], created["objectSelector"]) == ({}, {})
        assert created["rules"][0]["scope"] == "*"
        refused = await world.create(VALIDATING, validating("b", wrong))
        assert refused.code == 422
        assert {cause["field"].removeprefix("webhooks[0].") for cause in refused.body["details"]["causes"]} == {
            "name",
            "admissionReviewVersions",
            "clientConfig.url",
            "sideEffects",
            "timeoutSeconds",
            "rules[0].operations[0]",
            "matchConditions[0].expression",
        }

    tell(story, webhook_client=InProcessWebhooks())
