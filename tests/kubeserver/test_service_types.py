"""Fields that go with a type of Service: refused when they are said anew, dropped when the type changes under them."""

import asyncio
from typing import Any

import pytest

from kubeapi.meta import Manifest
from tests.kubeserver.api_world import ApiWorld, tell
from tests.kubeserver.webhooks import VALIDATING, InProcessWebhooks, allow, rule, validating, webhook

SERVICES = "/api/v1/namespaces/default/services"


def service(**spec: Any) -> Manifest:
    return {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}], **spec}}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"externalTrafficPolicy": "Local"},
            'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
        ),
        (
            {"allocateLoadBalancerNodePorts": True},
            "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when",
        ),
        ({"loadBalancerClass": "x/y"}, "spec.loadBalancerClass: Forbidden: may only be used when"),
        ({"internalTrafficPolicy": "Odd"}, 'spec.internalTrafficPolicy: Unsupported value: "Odd"'),
        ({"trafficDistribution": "Odd"}, 'spec.trafficDistribution: Unsupported value: "Odd"'),
    ],
)
def test_what_does_not_go_with_the_type_is_refused(spec: dict[str, Any], said: str):
    async def story(world: ApiWorld) -> None:
        refused = await world.create(SERVICES, service(**spec))
        assert refused.code == 422
        assert said in refused.body["message"]

    tell(story)


def test_external_addresses_make_a_service_reachable_from_outside():
    async def story(world: ApiWorld) -> None:
        made = await world.create(SERVICES, service(externalIPs=["192.0.2.1"]))
        assert made.body["spec"]["externalTrafficPolicy"] == "Cluster"
        inner = await world.patch(f"{SERVICES}/a", {"spec": {"externalIPs": None}})
        assert "externalTrafficPolicy" not in inner.body["spec"]

    tell(story)


def test_a_service_that_turns_inward_loses_what_was_for_outside():
    async def story(world: ApiWorld) -> None:
        made = await world.create(SERVICES, service(type="LoadBalancer", externalTrafficPolicy="Local"))
        assert made.body["spec"]["healthCheckNodePort"] != made.body["spec"]["ports"][0]["nodePort"]
        kept = await world.patch(f"{SERVICES}/a", {"metadata": {"labels": {"a": "b"}}})
        assert kept.body["spec"]["healthCheckNodePort"] == made.body["spec"]["healthCheckNodePort"]
        inner = (await world.patch(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}})).body["spec"]
        gone = ("externalTrafficPolicy", "healthCheckNodePort", "allocateLoadBalancerNodePorts")
        assert not inner.keys() & set(gone)
        again = await world.patch(f"{SERVICES}/a", {"spec": {"externalTrafficPolicy": "Local"}})
        assert again.code == 422

    tell(story)


def test_an_address_of_a_balancer_goes_with_it():
    async def story(world: ApiWorld) -> None:
        await world.create(SERVICES, service(type="LoadBalancer"))
        ingress = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
        await world.patch(f"{SERVICES}/a/status", {"status": ingress})
        labelled = await world.patch(f"{SERVICES}/a", {"metadata": {"labels": {"a": "b"}}})
        assert labelled.body["status"]["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.1"
        inner = await world.patch(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}})
        assert inner.body["status"] == {"loadBalancer": {}}

    tell(story)


def test_a_range_of_one_family_gives_no_addresses_of_another():
    async def story(world: ApiWorld) -> None:
        dual = await world.create(SERVICES, service(ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv6"]))
        assert [cause["message"] for cause in dual.body["details"]["causes"]] == [
            'Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
            'Invalid value: "IPv6": not configured on this cluster',
        ]
        headless = service(ipFamilyPolicy="RequireDualStack", clusterIP="None")
        assert (await world.create(SERVICES, headless)).body["spec"]["ipFamilies"] == ["IPv4", "IPv6"]

    tell(story)


def test_the_class_of_a_load_balancer_stays():
    async def story(world: ApiWorld) -> None:
        await world.create(SERVICES, service(type="LoadBalancer", loadBalancerClass="example.com/a"))
        refused = await world.patch(f"{SERVICES}/a", {"spec": {"loadBalancerClass": "example.com/b"}})
        assert "may not change once set" in refused.body["message"]

    tell(story)


def test_ports_are_given_out_of_the_upper_band_and_differ_from_cluster_to_cluster():
    given = set[int]()

    async def story(world: ApiWorld) -> None:
        for number in range(20):
            made = await world.create(SERVICES, {**service(type="NodePort"), "metadata": {"name": f"s{number}"}})
            given.add(made.body["spec"]["ports"][0]["nodePort"])
        by_hand = service(type="NodePort", ports=[{"port": 80, "nodePort": 30000}])
        assert (await world.create(SERVICES, by_hand)).code == 201

    tell(story)
    assert len(given) == 20
    assert min(given) >= 30086, "those below are for who asks for one by hand"
    assert max(given) - min(given) > 100, "nobody counts up"


def test_an_update_that_says_nothing_of_ports_keeps_them():
    async def story(world: ApiWorld) -> None:
        made = await world.create(SERVICES, service(type="NodePort", ports=[{"port": 80}, {"port": 81, "name": "b"}]))
        assert made.code == 422, "ports of one Service have names"
        named = [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]
        made = await world.create(SERVICES, service(type="NodePort", ports=named))
        first, second = (port["nodePort"] for port in made.body["spec"]["ports"])
        turned = service(type="NodePort", ports=[*reversed(named), {"port": 82, "name": "c"}])
        after = (await world.update(f"{SERVICES}/a", turned)).body["spec"]["ports"]
        assert [port["nodePort"] for port in after[:2]] == [second, first]
        assert after[2]["nodePort"] not in (first, second)
        taken = [{"port": 80, "name": "a"}, {"port": 81, "name": "b", "nodePort": first}]
        after = (await world.update(f"{SERVICES}/a", service(type="NodePort", ports=taken))).body["spec"]["ports"]
        assert after[1]["nodePort"] == first
        assert after[0]["nodePort"] != first

    tell(story)


def test_ports_of_a_change_that_another_overtook_are_free_again():
    """Both changes wait for the webhook, and one of them is made anew on top of the other."""
    hooks = InProcessWebhooks(judge=allow)
    hooks.delay_seconds = 2.0
    ports = [{"port": 80, "nodePort": 30001}]

    async def story(world: ApiWorld) -> None:
        await world.create(SERVICES, service())
        await world.create(VALIDATING, validating("a", webhook("judge", rule("services"))))
        labelled, opened = await asyncio.gather(
            world.patch(f"{SERVICES}/a", {"metadata": {"labels": {"a": "b"}}}),
            world.patch(f"{SERVICES}/a", {"spec": {"type": "NodePort", "ports": ports}}),
        )
        assert (labelled.code, opened.code) == (200, 200)
        assert (await world.get(f"{SERVICES}/a")).body["spec"]["ports"][0]["nodePort"] == 30001

    tell(story, webhook_client=hooks)
