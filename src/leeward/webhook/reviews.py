"""One AdmissionReview, answered: functions from the request's object to the response.

Kubernetes: admission.k8s.io/v1; patches are JSON patches (RFC 6902).
"""

import base64
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, cast

from kubeapi import codec
from kubeapi.core import SECRETS
from kubeapi.diff import json_patch
from kubeapi.field import Node
from kubeapi.meta import Manifest
from kubeapi.text import shortened
from kubeapi.untrusted import mapping_in
from leeward.api.defaulting import DefaultingSettings, apply_defaults
from leeward.api.resource import CLUSTERS, RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS
from leeward.api.rules.interpreters import webhook_address_problems
from leeward.api.rules.member_addresses import DEFAULT_RULES, AddressRules, address_problems
from leeward.api.validation import validate_change, validate_deletion, validate_types
from leeward.core.admission_warnings import old_word_warnings, warnings_for, warnings_of_live_templates
from leeward.core.propagation.reach import Reach, reference_problems
from leeward.core.registration import (
    cluster_of_agent,
    is_agent,
    problem_of_agents_cluster,
    problem_of_agents_object,
    with_maker,
)

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
MAX_NAMED_PROBLEMS, MAX_MESSAGE = 20, 8192
_REASONS = {403: "Forbidden", 422: "Invalid", 429: "TooManyRequests", 503: "ServiceUnavailable"}

Answer = Callable[[Mapping[str, Any]], Awaitable[Manifest]]
"""Function from the `request` of a review to its `response`, without the uid."""


class BadReview(ValueError):
    """The body is no AdmissionReview."""


async def answer_review(body: bytes, answer: Answer) -> Manifest:
    """The review to send back. Raises: BadReview."""
    try:
        review = codec.decode_manifest(body)
    except codec.DecodeError as error:
        raise BadReview(f"the body is no JSON object: {error}") from error
    if (review.get("apiVersion"), review.get("kind")) != (API_VERSION, KIND):
        raise BadReview(f"the body must be an {KIND} of {API_VERSION}")
    request: object = review.get("request")
    if not isinstance(request, dict) or not cast(Manifest, request).get("uid"):
        raise BadReview("request.uid is required")
    asked = cast(Manifest, request)
    return {"apiVersion": API_VERSION, "kind": KIND, "response": {"uid": asked["uid"], **await answer(asked)}}


def mutate(request: Mapping[str, Any], settings: DefaultingSettings) -> Manifest:
    """Allows the write, with a patch that sets the defaults where any are missing, or says who has made a Secret."""
    given, before = mapping_in(request, "object"), mapping_in(request, "oldObject") or None
    if mapping_in(request, "resource").get("resource") == SECRETS.plural:
        wanted = with_maker(given, before, agent_who_asks(request))
    else:
        wanted = apply_defaults(given, settings, before)
    patch, warnings = json_patch(given, wanted), old_word_warnings(given)
    answer: Manifest = {"allowed": True, **({"warnings": warnings} if warnings else {})}
    encoded = base64.b64encode(codec.encode(patch)).decode()
    return answer | ({"patchType": "JSONPatch", "patch": encoded} if patch else {})


def judge(
    request: Mapping[str, Any],
    reach: Reach | None = None,
    addresses: AddressRules = DEFAULT_RULES,
    gates: Collection[str] = (),
) -> Manifest:
    """Allows the write, with warnings of ignored fields, or names every field that is wrong. `gates` are on."""
    if foreign := _refusal_to_agent(request):
        return refusal(403, foreign)
    old = mapping_in(request, "oldObject")
    given = mapping_in(request, "object")
    if request.get("operation") == "DELETE":
        problems, code, warnings = validate_deletion(old), 403, list[str]()
    else:
        before = old or None
        problems = [*validate_types(given, before), *validate_change(given, before)]
        problems += reference_problems(given, before, reach or Reach())
        if mapping_in(request, "resource").get("resource") == CLUSTERS.plural:
            problems += address_problems(Node("", given), Node("", old), addresses)
        if mapping_in(request, "resource").get("resource") == RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS.plural:
            problems += webhook_address_problems(Node("", given), Node("", old), addresses)
        code, warnings = 422, [*warnings_for(given, gates), *warnings_of_live_templates(given)]
    if not problems:
        return {"allowed": True, **({"warnings": warnings} if warnings else {})}
    return refusal(code, "; ".join(map(str, problems[:MAX_NAMED_PROBLEMS])))


def _refusal_to_agent(request: Mapping[str, Any]) -> str:
    """Refusal for an agent that touches another's Cluster, Lease or Secret; the rest RBAC keeps from it."""
    who, what = mapping_in(request, "userInfo"), str(mapping_in(request, "resource").get("resource", ""))
    if what not in ("clusters", "leases", "secrets") or not is_agent(who.get("groups") or ()):
        return ""
    cluster = cluster_of_agent(str(who.get("username", "")))
    name = request.get("name") or mapping_in(mapping_in(request, "object"), "metadata").get("name")
    problem = problem_of_agents_object(cluster, what, str(request.get("namespace") or ""), str(name or ""))
    if problem or what != "clusters" or request.get("operation") == "DELETE":
        return problem
    given, before = (mapping_in(mapping_in(request, field), "spec") for field in ("object", "oldObject"))
    return problem_of_agents_cluster(given, before, cluster)


def agent_who_asks(request: Mapping[str, Any]) -> str:
    """The cluster whose agent makes the request; empty for anybody else."""
    who = mapping_in(request, "userInfo")
    return cluster_of_agent(str(who.get("username", ""))) if is_agent(who.get("groups") or ()) else ""


def refusal(code: int, message: str, reason: str = "", retry_after: int = 0) -> Manifest:
    """`reason` is by default the one that belongs to the code. `retry_after`: seconds after which to write again.

    A long message is cut."""
    details = {"details": {"retryAfterSeconds": retry_after}} if retry_after else {}
    told = shortened(message, MAX_MESSAGE)
    status = {"code": code, "reason": reason or _REASONS[code], "message": told, **details}
    return {"allowed": False, "status": status}
