"""Interpreter webhooks: which one answers, what it is asked, and what its answer says.

Karmada: pkg/resourceinterpreter/customized/webhook; same.
"""

from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from kubeapi import jsonpatch
from kubeapi.base64_text import read_base64
from kubeapi.codec import DecodeError, decode_any, encode
from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.api.interpreter_config import (
    DependentObjectReference,
    ResourceInterpreterWebhook,
    ResourceInterpreterWebhookConfiguration,
    RuleWithOperations,
)
from leeward.api.work import Component
from leeward.core.interpreter import scripts
from leeward.core.interpreter.interpret import ReplicaInterpretation
from leeward.core.interpreter.rules import InterpretationError
from leeward.core.interpreter.scripts import Operation

CONTEXT_VERSION, CONTEXT_KIND = "config.karmada.io/v1alpha1", "ResourceInterpreterContext"
DEFAULT_SECONDS, MOST_SECONDS = 10, 30
_ANY = "*"
_GOOD_CODES = range(200, 207)
_SHOWN_BYTES = 200


def hook_for(
    configurations: Iterable[ResourceInterpreterWebhookConfiguration], api_version: str, kind: str, operation: Operation
) -> ResourceInterpreterWebhook | None:
    """Webhook that answers for the kind: the first by the name of its configuration."""
    by_name = sorted(configurations, key=lambda each: each.metadata.name.encode())
    hooks = (hook for configuration in by_name for hook in configuration.webhooks)
    return next((h for h in hooks if any(matches(rule, api_version, kind, operation) for rule in h.rules)), None)


def matches(rule: RuleWithOperations, api_version: str, kind: str, operation: Operation) -> bool:
    """Tells whether a rule names the operation and the kind."""
    group, _, version = api_version.rpartition("/")
    asked = (
        (rule.operations, operation.value),
        (rule.api_groups, group),
        (rule.api_versions, version),
        (rule.kinds, kind),
    )
    return all(_ANY in names or name in names for names, name in asked)


def seconds_of(hook: ResourceInterpreterWebhook) -> int:
    """Seconds for which its answer is waited for."""
    return min(max(hook.timeout_seconds or DEFAULT_SECONDS, 1), MOST_SECONDS)


def address_of(hook: ResourceInterpreterWebhook) -> tuple[str, str, dict[str, str]]:
    """Server, path and query. A service has the name that clusters give it."""
    client = hook.client_config
    if client.service is not None:
        service = client.service
        server = f"https://{service.name}.{service.namespace}.svc:{service.port or 443}"
        return server, "/" + (service.path or "").removeprefix("/"), {}
    parts = urlsplit(client.url or "")
    return f"{parts.scheme}://{parts.netloc}", parts.path or "/", dict(parse_qsl(parts.query))


def question(uid: str, operation: Operation, manifest: ReadOnlyManifest, **more: Any) -> bytes:
    """`more` is what belongs to the operation: observedObject, replicas, aggregatedStatus.

    Karmada's client sends replicas with each operation, so a webhook may read them without a look.
    """
    group, _, version = manifest.get("apiVersion", "").rpartition("/")
    metadata = manifest.get("metadata", {})
    request = {
        "uid": uid,
        "kind": {"group": group, "version": version, "kind": manifest.get("kind", "")},
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "operation": operation.value,
        "object": manifest,
        "replicas": 0,
        **more,
    }
    return encode({"apiVersion": CONTEXT_VERSION, "kind": CONTEXT_KIND, "request": request})


def answer_in(code: int, body: bytes, uid: str) -> Manifest:
    """Response of an answer that succeeded. Raises: InterpretationError, as all below.

    Karmada's library writes neither apiVersion nor kind; what names another kind is refused.
    """
    if code not in _GOOD_CODES:
        raise InterpretationError(f"it answered with code {code}: {_shown(body)}")
    context = _context_in(body)
    response = context.get("response")
    if not isinstance(response, dict):
        raise InterpretationError("its answer has no response")
    said = cast(Manifest, response)
    if said.get("successful") is not True:
        raise InterpretationError(f"it did not succeed: {_reason_in(said.get('status'))}")
    if said.get("uid") != uid:
        raise InterpretationError(f"response.uid must be {uid!r}, not {said.get('uid')!r}")
    return said


def _context_in(body: bytes) -> Manifest:
    try:
        document = decode_any(body)
    except DecodeError as error:
        raise InterpretationError(f"its answer is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise InterpretationError("its answer is no object")
    context = cast(Manifest, document)
    named = (context.get("apiVersion") or CONTEXT_VERSION, context.get("kind") or CONTEXT_KIND)
    if named != (CONTEXT_VERSION, CONTEXT_KIND):
        raise InterpretationError(f"its answer must be a {CONTEXT_KIND} of {CONTEXT_VERSION}, not {_shown(body)}")
    return context


def _reason_in(status: Any) -> str:
    """Words of `response.status`. A library that could not read the question says so there, without a uid."""
    known = cast(Manifest, status) if isinstance(status, dict) else {}
    message, code = known.get("message"), known.get("code")
    return f"{message or 'it does not say why'}{f' (code {code})' if code else ''}"


def _shown(body: bytes) -> str:
    return body[:_SHOWN_BYTES].decode(errors="replace").strip() or "nothing"


def replicas_in(response: Manifest) -> ReplicaInterpretation:
    return scripts.replicas_in([_given(response, "replicas"), response.get("replicaRequirements")])


def components_in(response: Manifest) -> tuple[Component, ...]:
    return scripts.components_in([response.get("components")])


def health_in(response: Manifest) -> bool:
    return scripts.health_in([_given(response, "healthy")])


def status_in(response: Manifest) -> Any:
    """The status that it reflects. One that is missing is not known, and not empty."""
    return _given(response, "rawStatus")


def dependencies_in(response: Manifest) -> list[DependentObjectReference]:
    return scripts.dependencies_in([response.get("dependencies") or []])


def patched(response: Manifest, manifest: ReadOnlyManifest) -> Manifest:
    """The object as the answer changes it; as it is where there is neither patch nor patchType."""
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not patch and patch_type is None:
        return decode_any(encode(manifest))
    if patch_type != "JSONPatch":
        raise InterpretationError(f"response.patchType must be JSONPatch, not {patch_type!r}")
    if not patch:
        raise InterpretationError("response.patch is missing")
    try:
        operations: Any = decode_any(read_base64(patch))
        if operations is None:
            return decode_any(encode(manifest))
        if not isinstance(operations, list) or len(cast("list[Any]", operations)) > jsonpatch.MAX_OPERATIONS:
            raise ValueError(f"it must be a list of at most {jsonpatch.MAX_OPERATIONS} operations")
        found = jsonpatch.apply(decode_any(encode(manifest)), operations)
    except (ValueError, TypeError, DecodeError) as error:
        raise InterpretationError(f"response.patch cannot be applied: {error}") from error
    if not isinstance(found, dict):
        raise InterpretationError("response.patch leaves no object")
    return cast(Manifest, found)


def _given(response: Manifest, field: str) -> Any:
    value = response.get(field)
    if value is None:
        raise InterpretationError(f"response.{field} is missing")
    return value
