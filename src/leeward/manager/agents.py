"""Agents, as the API server of a control plane knows them: their rights, their bounds, and who gets a certificate.

A rule cannot say which name a new object may have, so the group of all agents may create Clusters and Leases, and
`AgentRestriction` sees to it that they are their own. What is there already is guarded by rules that name it.

What an agent may do before its cluster has joined, and no rule for all agents can say, comes with its name
(`AgentRights`): Karmada's agent makes two Secrets of its cluster before it, and says afterwards whose they are.

`approve_agents` approves what agents ask for their own name: with a bootstrap token that is for it, or as that agent,
which renews. What its Secret says that a token is not for is denied. Anything else waits for a person.

Karmada: pkg/controllers/certificate/approver; the same conditions.
"""

import logging
from collections.abc import Sequence
from typing import Any

from kubeapi import codec
from kubeapi.core import SECRETS
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.auth.authorization import Rule
from kubeserver.controllers.certificate_signer import Approval, Find, Note
from kubeserver.handler import User
from kubeserver.store import Store
from kubeserver.values import section
from leeward.api.names import AGENT_GROUP, AGENT_MADE_ANNOTATION, CLUSTER_NAMESPACE, RBAC_GENERATOR
from leeward.api.resource import CLUSTERS
from leeward.core import registration
from leeward.core.registration import Verdict
from leeward.manager.rbac_generator import GENERATOR, RULES_OF_GENERATOR, problem_of_generated
from leeward.runtime.certificate_requests import undecided_request

log = logging.getLogger(__name__)

_RBAC = "rbac.authorization.k8s.io"
AGENT_ACCESS: tuple[dict[str, Any], ...] = (
    {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": AGENT_GROUP},
        "rules": [*registration.AGENT_RULES, registration.LEASES_RULE],
    },
    {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": AGENT_GROUP},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": AGENT_GROUP},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": AGENT_GROUP}],
    },
)
"""The rights of all agents, which a new control plane begins with; `AgentRestriction` holds them to their own objects,
Leases in which namespace included."""


class AgentRights:
    """A `RulesOfUser`: the two Secrets of an agent's cluster; `AgentRestriction` sees to it that it makes no others.

    Before its cluster has joined only those that it has made itself: others are the credentials of a cluster of that
    name that joins, leaves or has left. None of a cluster that has joined as a Push member, whose Secrets are not its
    agent's, nor where one would be called like another cluster's.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, user: User, namespace: str) -> Sequence[Rule]:
        cluster = registration.cluster_of_agent(user.name) if registration.is_agent(user.groups) else ""
        if user.name == GENERATOR and cluster:
            return RULES_OF_GENERATOR
        if not cluster or namespace != CLUSTER_NAMESPACE:
            return ()
        mode = mode_of(self._store, cluster)
        if mode not in ("", "Pull"):
            return ()
        if any(mode_of(self._store, each) for each in registration.namesakes_of_secrets(cluster)):
            return ()
        others = () if mode else secrets_of_others(self._store, cluster)
        return (
            Rule(("create",), ("",), ("secrets",)),
            *(
                Rule(("get", "patch"), ("",), ("secrets",), (name,))
                for name in registration.secrets_of_agent(cluster)
                if name not in others
            ),
            Rule(("get",), ("",), ("namespaces",), (CLUSTER_NAMESPACE,)),
        )


def mode_of(store: Store, cluster: str) -> str:
    """`spec.syncMode` of a Cluster; empty where there is none."""
    record = store.head(f"/{CLUSTERS.group}/{CLUSTERS.plural}//{cluster}")
    return section(codec.decode_manifest(record.value), "spec").get("syncMode", "Push") if record else ""


def secrets_of_others(store: Store, cluster: str) -> tuple[str, ...]:
    """Secrets of `secrets_of_agent` that are there and were not made by the agent of `cluster`."""
    return tuple(name for name in registration.secrets_of_agent(cluster) if not _is_agents_own(store, cluster, name))


def _is_agents_own(store: Store, cluster: str, name: str) -> bool:
    """Tells whether the Secret is the agent's, or would be, as there is none yet."""
    record = store.head(f"/{SECRETS.group}/{SECRETS.plural}/{CLUSTER_NAMESPACE}/{name}")
    return record is None or annotations_of(codec.decode_manifest(record.value)).get(AGENT_MADE_ANNOTATION) == cluster


def approve_agents(manifest: ReadOnlyManifest, find: Find) -> Approval | None:
    """An `ApprovalRule`: the certificates of agents, without a person."""
    request = undecided_request(manifest)
    if request is None or not request.cluster:
        return None
    token = registration.TOKEN_PREFIX + request.token_id
    secret = find("", "secrets", registration.TOKEN_NAMESPACE, token)
    joined = () if find(CLUSTERS.group, CLUSTERS.plural, "", request.cluster) is None else (request.cluster,)
    there = [
        each for each in registration.secrets_of_agent(request.cluster) if find("", "secrets", CLUSTER_NAMESPACE, each)
    ]
    ruling = registration.rule_on_request(
        request, joined, None if secret is None else registration.use_of(annotations_of(secret)), there
    )
    if ruling.verdict is Verdict.WAITS:
        if ruling.reason:
            log.warning("certificate request %s waits: %s", manifest["metadata"]["name"], ruling.message)
        return None
    if ruling.verdict is Verdict.DENIED:
        return Approval(False, ruling.reason, ruling.message)
    note = (
        None if secret is None else Note(registration.TOKEN_NAMESPACE, token, registration.annotations_of_use(request))
    )
    return Approval(True, ruling.reason, ruling.message, note)


class AgentRestriction:
    """An `Admission`: nothing of a cluster is touched by another cluster's agent, and objects of agents are marked.

    `store`: where it is known who has joined, and whose Secrets there are; without one nobody writes roles as the
    generator of Karmada's.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._store = store

    def admit(self, review: AdmissionReview) -> Manifest:
        store = self._store
        if store is not None and review.user.name == GENERATOR and registration.is_agent(review.user.groups):
            if problem := problem_of_generated(review, lambda cluster: bool(mode_of(store, cluster))):
                raise Rejected(f"{RBAC_GENERATOR} {problem}")
        elif registration.is_agent(review.user.groups):
            self._check(review, registration.cluster_of_agent(review.user.name))
        is_secret = review.resource.plural == SECRETS.plural and review.namespace == CLUSTER_NAMESPACE
        if not is_secret or review.operation not in ("CREATE", "UPDATE"):
            return review.object
        agent = registration.cluster_of_agent(review.user.name) if registration.is_agent(review.user.groups) else ""
        return registration.with_maker(review.object, review.old_object, agent)

    def _check(self, review: AdmissionReview, cluster: str) -> None:
        resource, name = review.resource.plural, section(review.object, "metadata").get("name", "")
        problem = registration.problem_of_agents_object(cluster, resource, review.namespace, name)
        if not problem and resource == CLUSTERS.plural and review.operation != "DELETE":
            spec, before = (section(each or {}, "spec") for each in (review.object, review.old_object))
            problem = registration.problem_of_agents_cluster(spec, before, cluster)
            if not problem and review.old_object is None and self._store is not None:
                others = secrets_of_others(self._store, cluster)
                problem = registration.problem_of_secrets(cluster, others) if others else ""
        if problem:
            raise Rejected(problem)
