"""Reviews of gates by webhooks: the question that one is asked, and the meaning of its answer.

    {"apiVersion": "leeward.dev/v1alpha1", "kind": "GateReview", "request": {
        "uid": "...", "cluster": "member2", "annotation": "leeward.dev/wait-for",
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "db"}}}

    {"response": {"uid": "...", "allowed": false, "status": {"message": "the volume is still Secondary"}}}

The response has the form of an AdmissionReview's.
"""

from typing import Any, cast

from kubeapi.codec import DecodeError, decode_any, encode, to_wire
from kubeapi.meta import Manifest
from kubeapi.unstructured import mapping_at, text_at
from leeward.api.work import Binding
from leeward.core.execution.gates import GateSight

API_VERSION, KIND = "leeward.dev/v1alpha1", "GateReview"
_SHOWN = 200


def question_of_gate(uid: str, binding: Binding, cluster: str, annotation: str) -> bytes:
    resource: Manifest = to_wire(binding.spec.resource)
    named = {name: resource.get(name, "") for name in ("apiVersion", "kind", "namespace", "name")}
    request = {"uid": uid, "cluster": cluster, "annotation": annotation, "resource": named}
    return encode({"apiVersion": API_VERSION, "kind": KIND, "request": request})


def answer_of_gate(code: int, body: bytes, uid: str) -> GateSight:
    """Answer of a webhook. What makes no sense is no answer: nobody could look."""
    if code != 200:
        return GateSight(f"it answered with code {code}", seen=False)
    try:
        said: Any = decode_any(body)
    except DecodeError:
        return GateSight("its answer is no JSON", seen=False)
    response = mapping_at(said, "response")
    if response.get("uid") != uid or not isinstance(response.get("allowed"), bool):
        return GateSight(f"its answer has no response with the uid {uid} and allowed", seen=False)
    message = text_at(cast(Manifest, response), "status", "message")[:_SHOWN]
    return GateSight("" if response["allowed"] else message or "it does not allow it")
