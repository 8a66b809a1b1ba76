"""A conversion webhook inside a test: its answers are a function from an object and a version to an object."""

import asyncio
from collections.abc import Callable
from typing import Any

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeserver.webhooks.calling import Address, Uncallable
from tests.kubeserver.api_world import widgets

Convert = Callable[[Manifest, str], Any]

GADGETS = "/apis/example.com/{}/namespaces/default/widgets"
FIRST, SECOND = GADGETS.format("v1"), GADGETS.format("v2")
URL = "https://webhooks.example/convert"


def gadgets(storage: str = "v1", url: str = URL, authority: str = "", reviews: tuple[str, ...] = ("v1",)) -> Manifest:
    """Widgets whose first version has a `size`, which the second calls `length`; a webhook knows how."""
    client = {"url": url, **({"caBundle": authority} if authority else {})}
    definition = widgets()
    definition["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": list(reviews)},
    }
    definition["spec"]["versions"] = [
        _version("v1", {"size": {"type": "integer"}, "color": {"type": "string", "default": "red"}}, storage),
        _version("v2", {"length": {"type": "integer"}, "color": {"type": "string"}}, storage),
    ]
    return definition


def _version(name: str, properties: Manifest, storage: str) -> Manifest:
    spec = {"type": "object", "properties": properties}
    root = {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}
    column = {"name": "Long", "type": "integer", "jsonPath": ".spec.length"}
    return {
        "name": name,
        "served": True,
        "storage": name == storage,
        "schema": {"openAPIV3Schema": root},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [column],
    }


def gadget(version: str, name: str = "g", **spec: Any) -> Manifest:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def rename(manifest: Manifest, target: str) -> Manifest:
    """Converts a manifest as the definition means it."""
    before, after = ("size", "length") if target.endswith("v2") else ("length", "size")
    spec = {after if key == before else key: value for key, value in manifest["spec"].items()}
    return {**manifest, "apiVersion": target, "spec": spec}


class InProcessConversion:
    """A `WebhookClient` that answers ConversionReviews, keeps them, and can be slow or out of reach.

    It lets pass whatever admission asks it for.
    """

    def __init__(self, convert: Convert = rename, **response: Any) -> None:
        self.convert = convert
        self.response = response
        self.delay_seconds = 0.0
        self.fault = ""
        self.reviews: list[Manifest] = []
        self.addresses: list[Address] = []
        self.admitted: list[Manifest] = []

    @property
    def targets(self) -> list[str]:
        return [review["request"]["desiredAPIVersion"] for review in self.reviews]

    async def post(self, address: Address, body: bytes, timeout_seconds: float) -> bytes:
        review = codec.decode(body, dict[str, Any])
        if review["kind"] == "AdmissionReview":
            self.admitted.append(review["request"])
            answer = {"uid": review["request"]["uid"], "allowed": True}
            return codec.encode({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": answer})
        self.reviews.append(review)
        self.addresses.append(address)
        await asyncio.sleep(self.delay_seconds)
        if self.fault:
            raise Uncallable(self.fault)
        return answered(review, self.convert, self.response)

    async def close(self) -> None:
        """Does nothing: there is nothing to let go of."""


def answered(review: Manifest, convert: Convert, response: Manifest) -> bytes:
    request = review["request"]
    made = [convert(each, request["desiredAPIVersion"]) for each in request["objects"]]
    answer = {"uid": request["uid"], "convertedObjects": made, "result": {"status": "Success"}, **response}
    return codec.encode({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": answer})
