"""Admission webhooks inside a test: a `WebhookClient` whose answers are functions, by URL."""

import asyncio
import base64
from collections.abc import Callable
from typing import Any

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeserver.webhooks.calling import Address, Uncallable

MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

Answer = Callable[[dict[str, Any]], dict[str, Any]]
"""Function from the request of an AdmissionReview to fields of its response; `allowed` and `uid` are filled in."""


class InProcessWebhooks:
    """Answers by URL, keeps every request under it, and can be slow."""

    def __init__(self, **answers: Answer) -> None:
        self._answers = {url_of(name): answer for name, answer in answers.items()}
        self.requests: dict[str, list[dict[str, Any]]] = {name: [] for name in answers}
        self.addresses: list[Address] = []
        self.delay_seconds = 0.0

    async def post(self, address: Address, body: bytes, timeout_seconds: float) -> bytes:
        self.addresses.append(address)
        await asyncio.sleep(self.delay_seconds)
        answer = self._answers.get(address.url)
        if answer is None:
            raise Uncallable(f"nobody listens at {address.url}")
        review = codec.decode(body, dict[str, Any])
        self.requests[address.url.rpartition("/")[2]].append(review["request"])
        response = {"uid": review["request"]["uid"], "allowed": True, **answer(review["request"])}
        return codec.encode({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response})

    async def close(self) -> None:
        """Does nothing: there is nothing to let go of."""


def url_of(name: str) -> str:
    return f"https://webhooks.example/{name}"


def allow(request: dict[str, Any]) -> dict[str, Any]:
    return {}


def deny(message: str, code: int = 403) -> Answer:
    return lambda request: {"allowed": False, "status": {"message": message, "code": code}}


def patch(*operations: Manifest) -> Answer:
    encoded = base64.b64encode(codec.encode(operations)).decode()
    return lambda request: {"patchType": "JSONPatch", "patch": encoded}


def label(key: str, value: str) -> Answer:
    return patch({"op": "add", "path": "/metadata/labels", "value": {key: value}})


def rule(resource: str, group: str = "", version: str = "v1", *operations: str) -> Manifest:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": [resource],
        "operations": list(operations) or ["*"],
    }


def webhook(name: str, *rules: Manifest, **fields: Any) -> Manifest:
    return {
        "name": f"{name}.example.com",
        "clientConfig": {"url": url_of(name)},
        "rules": list(rules) or [rule("configmaps")],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }


def configuration(kind: str, name: str, *webhooks: Manifest) -> Manifest:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(webhooks),
    }


def mutating(name: str, *webhooks: Manifest) -> Manifest:
    return configuration("Mutating", name, *webhooks)


def validating(name: str, *webhooks: Manifest) -> Manifest:
    return configuration("Validating", name, *webhooks)
