"""Addresses of interpreter webhooks: the control plane, and each Pull member's agent, sends them whole objects.

has            the right to write ResourceInterpreterWebhookConfigurations, and nothing on the machines
does           names a server without TLS, a link-local address, or a cloud's metadata service
must not get   an object in the clear, or a question to what only the machine may ask
"""

import asyncio
import re
import socket
from ipaddress import ip_network
from typing import Any

import pytest

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from kubeclient import Invalid, Unreachable
from kubeclient.resolving import ForbiddenAddress
from leeward.api.interpreter_config import ResourceInterpreterWebhookConfiguration
from leeward.api.resource import RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS
from leeward.api.rules.member_addresses import AddressRules
from leeward.app.flags.settings import settings_of
from leeward.runtime.interpreter_webhooks import HttpsCalls
from leeward.sim.world import World
from leeward.webhook.reviews import judge
from tests.world.stories import play

WEBHOOKS = RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS
METADATA = "https://169.254.169.254/latest"
REFUSED = [
    ("http://hooks.example.com/farms", "over http://"),
    (METADATA, "169.254.169.254 is a metadata service"),
    ("https://169.254.7.7:8443/farms", "169.254.7.7 is link-local"),
    ("https://[fe80::1]/farms", "fe80::1 is link-local"),
    ("https://[::ffff:169.254.169.254]/farms", "169.254.169.254 is a metadata service"),
    ("https://metadata.google.internal/farms", "metadata.google.internal is a metadata service"),
    ("https://2852039166/farms", "is a number in place of a name"),
]
TAKEN = ("https://hooks.example.com/farms", "https://127.0.0.1:9443/farms", "https://10.0.0.7/farms")
CLOUD = AddressRules(allowed=(ip_network("169.254.0.0/16"),))


def configuration(url: str, name: str = "farms") -> Manifest:
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "kinds": ["Farm"]}
    hook = {"name": f"{name}.example.com", "clientConfig": {"url": url}, "rules": [rule]}
    return {
        "apiVersion": "config.karmada.io/v1alpha1",
        "kind": WEBHOOKS.kind,
        "metadata": {"name": name},
        "webhooks": [{**hook, "interpreterContextVersions": ["v1alpha1"]}],
    }


def review(given: Manifest, old: Manifest | None = None) -> Manifest:
    resource = {"group": WEBHOOKS.group, "version": WEBHOOKS.version, "resource": WEBHOOKS.plural}
    operation = "CREATE" if old is None else "UPDATE"
    return {"operation": operation, "resource": resource, "object": given, "oldObject": old}


@pytest.mark.parametrize(("url", "told"), REFUSED)
def test_a_webhook_that_leads_where_it_must_not_is_refused_by_both_admissions(url: str, told: str) -> None:
    async def story(world: World) -> None:
        with pytest.raises(Invalid, match=re.escape("webhooks[0].clientConfig.url")) as refused:
            await world.client.create(WEBHOOKS, from_wire(configuration(url), ResourceInterpreterWebhookConfiguration))
        assert told in str(refused.value)

    answer = judge(review(configuration(url)))
    assert (answer["allowed"], told in answer["status"]["message"]) == (False, True)
    play(story)


@pytest.mark.parametrize("url", TAKEN)
def test_other_webhooks_are_taken_and_so_is_what_a_flag_allows(url: str) -> None:
    assert judge(review(configuration(url)))["allowed"]
    assert judge(review(configuration(METADATA)), addresses=CLOUD)["allowed"]
    assert not judge(review(configuration("http://169.254.169.254/farms")), addresses=CLOUD)["allowed"]


def test_what_was_stored_before_can_be_changed_otherwise() -> None:
    stored = configuration("http://hooks.example.com/farms")
    assert judge(review({**stored, "metadata": {"name": "farms", "labels": {"a": "b"}}}, stored))["allowed"]
    assert not judge(review(configuration("http://hooks.example.com/other"), stored))["allowed"]


def asked(hook: Manifest, calls: HttpsCalls) -> None:
    (given,) = from_wire(hook, ResourceInterpreterWebhookConfiguration).webhooks

    async def main() -> None:
        try:
            await calls(given, b"{}")
        finally:
            await calls.close()

    asyncio.run(main())


@pytest.mark.parametrize(("url", "told"), REFUSED)
def test_nothing_is_sent_to_a_stored_one(url: str, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        asked(configuration(url), HttpsCalls())


@pytest.mark.parametrize("url", ["https://127.0.0.1:9443/gate", "https://[::1]/gate", "https://localhost:9443/gate"])
def test_a_gate_asks_nothing_on_the_machine_unless_a_flag_allows_it(url: str) -> None:
    with pytest.raises((ValueError, ForbiddenAddress), match="is a loopback address"):
        asked(configuration(url), HttpsCalls().of_gates())
    loopback = AddressRules(allowed=(ip_network("127.0.0.0/8"), ip_network("::1/128")))
    with pytest.raises(Unreachable):
        asked(configuration(url), HttpsCalls(loopback).of_gates())


def test_a_gate_does_not_ask_the_control_plane_itself() -> None:
    own = AddressRules(own=(("10.0.0.7", 6443),))
    with pytest.raises(ValueError, match="is the control plane itself"):
        asked(configuration("https://10.0.0.7:6443/gate"), HttpsCalls(own).of_gates())


def test_gates_have_connections_of_their_own() -> None:
    calls = HttpsCalls()
    assert calls.of_gates() is not calls
    assert calls.of_gates() is calls.of_gates()


def test_a_name_that_resolves_to_a_metadata_service_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolved(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    service = configuration("")
    service["webhooks"][0]["clientConfig"] = {"service": {"namespace": "default", "name": "farms"}}
    for hook in (configuration("https://hooks.example.com/farms"), service):
        with pytest.raises(ForbiddenAddress, match=re.escape("169.254.169.254 is a metadata service")):
            asked(hook, HttpsCalls())


def test_an_agent_has_the_flag_that_allows_networks_too() -> None:
    for component in ("agent", "controller-manager", "serve", "up"):
        settings = settings_of(component, {"allowed-member-addresses": "169.254.0.0/16"})
        assert settings.limits.member_addresses == CLOUD.allowed
