"""Registration of clusters and their agents: which cluster may join, whose certificate request is approved without a
person, and what every agent may do.

A cluster is known by the UID of its Namespace kube-system, which stands in `spec.id` of its Cluster.

Karmada: pkg/controllers/certificate/approver, pkg/karmadactl/register; same, with fewer rights. There, a token makes
any number of agents, and one that may write any RBAC object; here, one agent that was not there. pkg/util/cluster.go
(IsClusterIdentifyUnique); same, and the control plane itself is no member.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from kubeapi.diff import is_equal
from kubeapi.untrusted import mapping_in
from leeward.api.names import (
    ADMIN_GROUP,
    AGENT_GROUP,
    AGENT_MADE_ANNOTATION,
    AGENT_USER_PREFIX,
    BOOTSTRAP_CLUSTER_ANNOTATION,
    BOOTSTRAP_CLUSTER_GROUP_PREFIX,
    BOOTSTRAP_REQUEST_ANNOTATION,
    BOOTSTRAP_SINGLE_USE_GROUP,
    CLUSTER_NAMESPACE,
    KARMADA_AGENT_LEASE_PREFIX,
    RBAC_GENERATOR,
    SYSTEM_NAMESPACE,
    execution_space,
    impersonator_of,
    lease_of_agent,
)
from leeward.api.rules.texts import cluster_name_fault

IDENTIFYING_NAMESPACE = "kube-system"
SIGNER = "kubernetes.io/kube-apiserver-client"
BOOTSTRAP_GROUP = "system:bootstrappers"
BOOTSTRAP_USER_PREFIX = "system:bootstrap:"
TOKEN_NAMESPACE, TOKEN_PREFIX = "kube-system", "bootstrap-token-"
"""Namespace of the Secret of a bootstrap token, and the beginning of its name."""
USAGES = ("client auth", "digital signature", "key encipherment")
ASKING_RULE: dict[str, Any] = {
    "apiGroups": ["certificates.k8s.io"],
    "resources": ["certificatesigningrequests"],
    "verbs": ["create", "get", "list", "watch"],
}
AGENT_RULES: tuple[dict[str, Any], ...] = (
    {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters"], "verbs": ["create", "get", "list", "watch"]},
    {"apiGroups": ["config.karmada.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": [CLUSTER_NAMESPACE], "verbs": ["get"]},
    ASKING_RULE,
)
"""The rights of the group of all agents; what is an agent's own comes when its cluster joins."""
LEASES_RULE: dict[str, Any] = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]}
"""Theirs in the namespaces of an agent's Leases; RBAC cannot say of which name, so admission does."""


OBJECTS_OF_EVENTS = {"default": "", SYSTEM_NAMESPACE: KARMADA_AGENT_LEASE_PREFIX}
"""Namespaces in which an agent tells of what has none, or of its Lease, with what the names begin with before that of
its cluster."""


class Joined(NamedTuple):
    """Identity of who has joined, as its Cluster says: its name, `spec.id`, which may be empty, and `spec.syncMode`."""

    name: str
    id: str
    sync_mode: str

    @property
    def way_out(self) -> str:
        """The command with which it leaves."""
        return f"leeward {'unregister' if self.sync_mode == 'Pull' else 'unjoin'} {self.name}"


def problem_of_identity(name: str, cluster_id: str, joined: Iterable[Joined], control_plane_id: str = "") -> str:
    """The reason why the cluster with this id may not join as `name`; empty when it may. Unknown ids are empty."""
    if cluster_id and cluster_id == control_plane_id:
        return "this cluster is the control plane itself, which cannot be a member of its own: give another cluster"
    for other in joined:
        if other.name in namesakes_of_secrets(name):
            return f"the Secrets of this cluster and of {other.name} would have one name: give it another name"
        if cluster_id and other.id == cluster_id and other.name != name:
            return f"this cluster has joined already, as {other.name}: use that one, or `{other.way_out}` first"
    return ""


class Verdict(Enum):
    """Verdict over a certificate request; one that waits is for a person."""

    APPROVED = "Approved"
    DENIED = "Denied"
    WAITS = "Waits"


class Ruling(NamedTuple):
    """`reason` and `message` of the condition that says so; for a request that waits, why, where that is to be told."""

    verdict: Verdict
    reason: str = ""
    message: str = ""


class CertificateRequest(NamedTuple):
    """Request to be somebody: `user` and `groups` are the certificate's, `asker` and its groups those of who asks."""

    user: str
    groups: tuple[str, ...]
    usages: tuple[str, ...]
    asker: str
    asker_groups: tuple[str, ...]
    uid: str = ""

    @property
    def cluster(self) -> str:
        """The cluster whose agent the certificate is for; empty for one that is no agent's."""
        name = self.user.removeprefix(AGENT_USER_PREFIX) if self.user.startswith(AGENT_USER_PREFIX) else ""
        is_agent = self.groups == (AGENT_GROUP,) and set(self.usages) <= set(USAGES)
        return name if is_agent and name != RBAC_GENERATOR and not cluster_name_fault(name) else ""

    @property
    def token_id(self) -> str:
        """The bootstrap token that it was made with; empty for another identity."""
        is_token = BOOTSTRAP_GROUP in self.asker_groups and self.asker.startswith(BOOTSTRAP_USER_PREFIX)
        return self.asker.removeprefix(BOOTSTRAP_USER_PREFIX) if is_token else ""

    @property
    def is_renewal(self) -> bool:
        return self.asker == self.user and AGENT_GROUP in self.asker_groups

    @property
    def single_use(self) -> bool:
        return BOOTSTRAP_SINGLE_USE_GROUP in self.asker_groups


class TokenUse(NamedTuple):
    """Use that was made of a bootstrap token: a cluster, and the uid of the last request; empty for nothing yet."""

    cluster: str = ""
    request: str = ""


def use_of(annotations: Mapping[str, str]) -> TokenUse:
    """Reads the annotations of a bootstrap token's Secret."""
    return TokenUse(
        annotations.get(BOOTSTRAP_CLUSTER_ANNOTATION, ""), annotations.get(BOOTSTRAP_REQUEST_ANNOTATION, "")
    )


def annotations_of_use(request: CertificateRequest) -> dict[str, str]:
    """Annotations of a token that is used for `request`."""
    return {BOOTSTRAP_CLUSTER_ANNOTATION: request.cluster, BOOTSTRAP_REQUEST_ANNOTATION: request.uid}


def rule_on_request(
    request: CertificateRequest, joined: Collection[str], use: TokenUse | None, secrets: Collection[str] = ()
) -> Ruling:
    """Tells whether an agent's certificate is given without a person: to the agent itself, or to who has a token for
    it.

    A token makes the agent of one new cluster: of the one that it is bound to, or else of the first that it is used
    for. `joined` are the names of all clusters; `use` is None where what the token was used for is not known, as its
    Secret is gone or cannot be read: then nothing is approved, and the reason says so. `secrets` are those
    `secrets_of_agent` that there are already: they may be the credentials of a cluster that joins, leaves or has left.
    """
    cluster = request.cluster
    if not cluster:
        return Ruling(Verdict.WAITS)
    if request.is_renewal:
        return _APPROVED
    if not request.token_id:
        return Ruling(Verdict.WAITS)
    if problem := _problem_of_binding(request, cluster):
        return Ruling(Verdict.DENIED, "TokenOfAnotherUse", problem)
    if use is None:
        return _token_unknown(request)
    if problem := _problem_of_use(request, cluster, use):
        return Ruling(Verdict.DENIED, "TokenOfAnotherUse", problem)
    if cluster in joined:
        way_out = (
            f"give another name, or let it leave first (`leeward unregister {cluster}`, `leeward unjoin {cluster}`)"
        )
        return Ruling(Verdict.DENIED, "ClusterExists", f"there is a cluster {cluster} already: {way_out}")
    if secrets:
        return Ruling(Verdict.DENIED, "SecretsExist", problem_of_secrets(cluster, secrets))
    return _APPROVED


def _problem_of_binding(request: CertificateRequest, cluster: str) -> str:
    bound = clusters_of_token(request.asker_groups)
    if bound and cluster not in bound:
        return f"the bootstrap token is for the cluster {', '.join(bound)}, and not for {cluster}: {_way_out(cluster)}"
    return ""


def _problem_of_use(request: CertificateRequest, cluster: str, use: TokenUse) -> str:
    if use.cluster and use.cluster != cluster:
        used = f"was used for the cluster {use.cluster}, and is not for {cluster}"
        return f"the bootstrap token {used}: {_way_out(cluster)}"
    if request.single_use and use.request not in ("", request.uid):
        return f"the bootstrap token was for a single use, and is used up: {_way_out(cluster)}"
    return ""


def _token_unknown(request: CertificateRequest) -> Ruling:
    secret = f"{TOKEN_NAMESPACE}/{TOKEN_PREFIX}{request.token_id}"
    message = (
        f"the Secret {secret} of the bootstrap token is gone or cannot be read, so that nobody knows what it was used "
        f"for: {_way_out(request.cluster)}, or approve the request by hand (`kubectl certificate approve`)"
    )
    return Ruling(Verdict.WAITS, "TokenUnknown", message)


def _way_out(cluster: str) -> str:
    return f"make one for it: `leeward token create --cluster {cluster}`"


def clusters_of_token(groups: Iterable[str]) -> tuple[str, ...]:
    """The clusters that a bootstrap token in these groups is bound to; none for one that is not."""
    prefix = BOOTSTRAP_CLUSTER_GROUP_PREFIX
    return tuple(group.removeprefix(prefix) for group in groups if group.startswith(prefix))


def is_agent(groups: Collection[str]) -> bool:
    """Tells whether a user of these groups is bound as an agent; who may do anything is not."""
    return AGENT_GROUP in groups and ADMIN_GROUP not in groups


def cluster_of_agent(user: str) -> str:
    """The cluster that the user is the agent of; empty when it is none."""
    return user.removeprefix(AGENT_USER_PREFIX) if user.startswith(AGENT_USER_PREFIX) else ""


def secrets_of_agent(cluster: str) -> tuple[str, str]:
    """The Secrets in `karmada-cluster` that Karmada's agent makes of a cluster: its credentials, the impersonator's."""
    return cluster, impersonator_of(cluster)


def problem_of_secrets(cluster: str, secrets: Collection[str]) -> str:
    """Reason why nobody becomes the agent of `cluster`, or joins as such: `secrets` are there that it has not made."""
    return (
        f"the namespace {CLUSTER_NAMESPACE} holds credentials that may be those of another cluster {cluster}: give "
        f"another name, or delete what is of no use any more "
        f"(`kubectl -n {CLUSTER_NAMESPACE} delete secret {' '.join(secrets)}`)"
    )


def made_by_agent(secret: Mapping[str, Any], before: Mapping[str, Any] | None, agent: str) -> str:
    """The cluster whose agent has made a Secret that is written by the agent of the cluster `agent`, "" for anybody
    else; empty for what anybody else has made, or written other data into. `before` is None for a new one."""
    if before is None:
        return agent
    noted = mapping_in(mapping_in(before, "metadata"), "annotations").get(AGENT_MADE_ANNOTATION, "")
    fields = ("data", "stringData")
    return noted if agent or all(is_equal(secret.get(field), before.get(field)) for field in fields) else ""


def with_maker(secret: Mapping[str, Any], before: Mapping[str, Any] | None, agent: str) -> dict[str, Any]:
    """The Secret with the mark of who has made it, whatever mark its writer gives it; arguments as of
    `made_by_agent`."""
    cluster = made_by_agent(secret, before, agent)
    metadata = mapping_in(secret, "metadata")
    annotations = mapping_in(metadata, "annotations")
    if annotations.get(AGENT_MADE_ANNOTATION, "") == cluster:
        return dict(secret)
    kept = {key: value for key, value in annotations.items() if key != AGENT_MADE_ANNOTATION}
    marked = {**kept, AGENT_MADE_ANNOTATION: cluster} if cluster else kept
    return {**secret, "metadata": {**metadata, "annotations": marked}}


def namesakes_of_secrets(cluster: str) -> tuple[str, ...]:
    """The clusters of which a Secret would be called like one of this cluster."""
    suffix = impersonator_of("")
    return impersonator_of(cluster), *([cluster.removesuffix(suffix)] if cluster.endswith(suffix) else [])


def problem_of_agents_object(cluster: str, resource: str, namespace: str, name: str) -> str:
    """Reason why the agent of `cluster` may not write the object; empty where it is its own. `resource` is in the
    plural."""
    match resource:
        case "clusters":
            is_own = name == cluster
        case "leases":
            is_own = (namespace, name) in ((CLUSTER_NAMESPACE, cluster), (SYSTEM_NAMESPACE, lease_of_agent(cluster)))
        case "secrets" if namespace == CLUSTER_NAMESPACE:
            is_own = name in secrets_of_agent(cluster)
        case "events" if (about := OBJECTS_OF_EVENTS.get(namespace)) is not None:
            is_own = name.startswith(f"{about}{cluster}.")
        case "certificatesigningrequests":
            is_own = True
        case _:
            is_own = namespace == execution_space(cluster)
    return "" if is_own and cluster else f'the agent of cluster "{cluster}" may only touch what belongs to that cluster'


def problem_of_agents_cluster(spec: Mapping[str, Any], before: Mapping[str, Any], cluster: str) -> str:
    """Problem of the `spec` that the agent of `cluster` gives its own Cluster; empty when nothing is.

    The control plane shows the Secrets that a Cluster refers to to whoever is behind its endpoint: so an agent's is
    one that the control plane does not go to, with no Secrets but those of its own execution space, and the two that
    Karmada's agent makes.
    """
    if spec.get("syncMode") != "Pull":
        return f'spec.syncMode: the agent of cluster "{cluster}" may only register it as Pull'
    for field, name in zip(("secretRef", "impersonatorSecretRef"), secrets_of_agent(cluster), strict=True):
        reference: Any = spec.get(field)
        if not reference or is_equal(reference, before.get(field)):
            continue
        where = mapping_in(spec, field)
        if where.get("namespace") == execution_space(cluster):
            continue
        if (where.get("namespace"), where.get("name")) != (CLUSTER_NAMESPACE, name):
            return (
                f"spec.{field}: must be a Secret in the namespace {execution_space(cluster)}, "
                f"or the Secret {CLUSTER_NAMESPACE}/{name}"
            )
    return ""


_APPROVED = Ruling(Verdict.APPROVED, "AutoApproved", "an agent asks for its own certificate")
