"""Webhook configurations that are templates, beside policies that nobody can read."""

from functools import partial

import pytest

from kubeapi.codec import encode, from_wire
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeserver.store import Store
from kubeserver.store.memory import MemoryMedium
from kubeserver.webhooks.configuration import Configured, Webhook
from leeward.manager.webhook_templates import WebhookTemplates

KIND, PLURAL = "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"
SELECTOR: Manifest = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": KIND, "name": "guard"}
WEBHOOK = from_wire({"name": "guard.example.com", "clientConfig": {"url": "https://guard.example.com"}}, Webhook)
POLICIES = "/policy.karmada.io/clusterpropagationpolicies"
UNREADABLE: Manifest = {"metadata": {"name": "a"}, "spec": {"resourceSelectors": 5}}


def _rendered(manifest: Manifest, _: int) -> bytes:
    return encode(manifest)


@pytest.mark.parametrize("selects", [True, False])
def test_a_policy_that_nobody_can_read_neither_claims_a_webhook_nor_hides_one_that_does(selects: bool) -> None:
    readable: Manifest = {"metadata": {"name": "b"}, "spec": {"resourceSelectors": [SELECTOR], "placement": {}}}
    guard: Manifest = {**SELECTOR, "metadata": {"name": "guard"}}

    async def run() -> bool:
        async with Supervisor("test") as supervisor:
            store = await Store.open(MemoryMedium(), supervisor)
            await store.put(f"/admissionregistration.k8s.io/{PLURAL}//guard", None, partial(_rendered, guard))
            for policy in [UNREADABLE, *([readable] if selects else [])]:
                await store.put(f"{POLICIES}//{policy['metadata']['name']}", None, partial(_rendered, policy))
            templates = WebhookTemplates(store)
            passed_over = templates.passed_over(Configured("guard", WEBHOOK, PLURAL))
            await store.close()
            return passed_over

    assert run_virtual(run()) == selects
