"""Rules of admission that need to know what else the control plane has: each asks it, and refuses or lets through while
it does not tell. Two that are written at the same moment do not see each other.

    credentials       who says where a member's token is sent may read that token (SubjectAccessReview)
    customizations    each question about a kind has one script that answers it; no script is run
    joining           one cluster joins once, and never its own control plane; an id that stays is not asked about
    registering       no agent joins under a name of which there are others' Secrets, which may be a Push member's
    namespace bounds  a namespace has a bounded number of policies; the API server counts, and says how many there are

While it is not told, the first four refuse: whoever writes tries again. One policy more is let through: the bound is
there against thousands. The embedded server asks the same of its store (`manager/agents.py`).
Karmada: pkg/webhook/resourceinterpretercustomization; same."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, TypeVar

from kubeapi.core import SECRETS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in
from kubeclient import Client, NotFound, Patience, TooManyRequests, WorldError, all_of
from leeward.api.names import AGENT_MADE_ANNOTATION, CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS, OVERRIDE_POLICIES, PROPAGATION_POLICIES, RESOURCE_INTERPRETER_CUSTOMIZATIONS
from leeward.api.rules import bounds
from leeward.core.member_credentials import ExposedSecret, exposed_secrets, exposure_refusal
from leeward.core.registration import Joined, problem_of_identity, problem_of_secrets, secrets_of_agent
from leeward.lua.checking import customization_problems
from leeward.runtime.server_identity import cluster_id_of
from leeward.webhook.reviews import agent_who_asks, refusal

SECONDS = 3.0
"""Seconds that an answer may take, less than the kube-apiserver waits for us."""
PATIENCE = Patience(seconds=SECONDS - 1.0)
"""Patience of the webhook's client: the reason for which it is put off can still be told."""
T = TypeVar("T")


class Untold(Exception):
    """The control plane has not answered; the message says why. `retry_after` are the seconds after which it wants to
    be asked again, where it has said so."""

    def __init__(self, why: str, retry_after: int = 0) -> None:
        super().__init__(why)
        self.retry_after = retry_after


async def ask(answering: Awaitable[T]) -> T:
    """The answer, in time. Raises: Untold."""
    try:
        async with asyncio.timeout(SECONDS):
            return await answering
    except TooManyRequests as error:
        raise Untold(str(error), max(error.retry_after_seconds, 1)) from error
    except (WorldError, TimeoutError) as error:
        raise Untold(str(error) or f"no answer within {SECONDS:g} s") from error


def refusal_for_now(unknown: str, untold: Untold) -> Manifest:
    """The refusal of a write that cannot be judged yet, since `unknown` is not told."""
    message = f"{unknown}: {untold}; try again"
    return refusal(429, message, retry_after=untold.retry_after) if untold.retry_after else refusal(503, message)


REVIEWS: Resource[Manifest] = Resource.of_manifests(
    "authorization.k8s.io/v1", "subjectaccessreviews", "SubjectAccessReview", False
)


async def judge_credentials(request: Mapping[str, Any], client: Client) -> Manifest | None:
    """The refusal of a Cluster whose writer may not read the Secrets that it shows; None where there is none."""
    who, resource = mapping_in(request, "userInfo"), mapping_in(request, "resource").get("resource")
    if resource != CLUSTERS.plural or request.get("operation") == "DELETE":
        return None
    shown = exposed_secrets(
        mapping_in(request, "object"), mapping_in(request, "oldObject") or None, who.get("groups") or ()
    )
    try:
        hidden = await ask(_hidden(client, who, shown))
    except Untold as error:
        return refusal_for_now("it cannot be told whether you may read the Secrets of this Cluster", error)
    return (
        refusal(403, "; ".join(exposure_refusal(who.get("username", ""), each) for each in hidden)) if hidden else None
    )


async def _hidden(client: Client, who: Mapping[str, Any], shown: Iterable[ExposedSecret]) -> list[ExposedSecret]:
    """Secrets that the writer may not read. Raises: WorldError."""
    return [secret for secret in shown if not await _may_read(client, who, secret)]


async def _may_read(client: Client, who: Mapping[str, Any], secret: ExposedSecret) -> bool:
    """Raises: WorldError."""
    asked = {"verb": "get", "group": "", "resource": "secrets", "namespace": secret.namespace, "name": secret.name}
    spec: Manifest = {
        "user": who.get("username", ""),
        "groups": list(who.get("groups") or ()),
        "uid": who.get("uid", ""),
        "extra": dict(who.get("extra") or {}),
        "resourceAttributes": asked,
    }
    review = await client.create(REVIEWS, {"spec": spec})
    return bool(mapping_in(review, "status").get("allowed"))


_KIND = RESOURCE_INTERPRETER_CUSTOMIZATIONS
_MANIFESTS = Resource.of_manifests(_KIND.api_version, _KIND.plural, _KIND.kind, False)
"""Resource of plain manifests: what cannot be read among the others answers nothing, and hides none of them."""


async def judge_customization(request: Mapping[str, Any], client: Client) -> Manifest | None:
    """The refusal of a customization with broken scripts, or scripts for questions of another; None without."""
    resource = mapping_in(request, "resource")
    asked = resource.get("group"), resource.get("resource")
    if asked != (_KIND.group, _KIND.plural) or request.get("operation") == "DELETE":
        return None
    given = mapping_in(request, "object")
    problems = customization_problems(given, ())
    if not problems:
        try:
            problems = customization_problems(given, await ask(all_of(client, _MANIFESTS)))
        except Untold as error:
            return refusal_for_now("it cannot be told what other customizations answer", error)
    return refusal(422, "; ".join(map(str, problems))) if problems else None


async def judge_joining(request: Mapping[str, Any], client: Client) -> Manifest | None:
    """The refusal of a Cluster whose `spec.id` is another's, or the control plane's own; None where there is none."""
    cluster = mapping_in(request, "object")
    cluster_id = _id(cluster)
    is_cluster = mapping_in(request, "resource").get("resource") == CLUSTERS.plural
    if not is_cluster or not cluster_id or cluster_id == _id(mapping_in(request, "oldObject")):
        return None
    name = mapping_in(cluster, "metadata").get("name", "")
    try:
        problem = await ask(_problem(client, name, cluster_id))
    except Untold as error:
        return refusal_for_now("it cannot be told whether this cluster has joined already", error)
    return refusal(422, f'spec.id: Invalid value: "{cluster_id}": {problem}') if problem else None


async def _problem(client: Client, name: str, cluster_id: str) -> str:
    """Raises: WorldError."""
    return problem_of_identity(name, cluster_id, await _joined(client), await cluster_id_of(client))


async def _joined(client: Client) -> list[Joined]:
    """Raises: WorldError."""
    clusters = await all_of(client, CLUSTERS)
    return [Joined(cluster.name, cluster.spec.id, cluster.spec.sync_mode) for cluster in clusters]


def _id(cluster: Mapping[str, Any]) -> str:
    return mapping_in(cluster, "spec").get("id", "")


async def judge_registering(request: Mapping[str, Any], client: Client) -> Manifest | None:
    """The refusal of an agent's new Cluster while there are Secrets of its name that the agent has not made; None where
    there is none."""
    cluster = agent_who_asks(request)
    is_cluster = mapping_in(request, "resource").get("resource") == CLUSTERS.plural
    if not cluster or not is_cluster or request.get("operation") != "CREATE":
        return None
    try:
        others = [name for name in secrets_of_agent(cluster) if not await ask(_is_agents_own(client, cluster, name))]
    except Untold as error:
        return refusal_for_now("it cannot be told whose Secrets of this name there are", error)
    return refusal(403, problem_of_secrets(cluster, others)) if others else None


async def _is_agents_own(client: Client, cluster: str, name: str) -> bool:
    """Tells whether the Secret is the agent's, or would be, as there is none yet. Raises: WorldError."""
    try:
        found = await client.get(SECRETS, name, CLUSTER_NAMESPACE)
    except NotFound:
        return True
    return found.metadata.annotations.get(AGENT_MADE_ANNOTATION) == cluster


log = logging.getLogger(__name__)

_COUNTED = {
    (policy.group, policy.plural): Resource.of_manifests(policy.api_version, policy.plural, policy.kind, True)
    for policy in (PROPAGATION_POLICIES, OVERRIDE_POLICIES)
}
"""Resources as plain objects: one that cannot be read as a policy counts, too."""


async def judge_policy_count(request: Mapping[str, Any], client: Client) -> Manifest | None:
    """The refusal of a policy whose namespace has as many as it may have; None where there is none."""
    resource, namespace = mapping_in(request, "resource"), str(request.get("namespace") or "")
    counted = _COUNTED.get((resource.get("group", ""), resource.get("resource", "")))
    if counted is None or not namespace or request.get("operation") != "CREATE":
        return None
    try:
        there = await ask(client.list(counted, namespace, limit=1))
    except Untold as error:
        log.warning("the %s of namespace %s were not counted: %s", counted.plural, namespace, error)
        return None
    problem = bounds.policy_count_problem(namespace, counted.plural, len(there.items) + there.remaining)
    return refusal(422, str(problem)) if problem else None
