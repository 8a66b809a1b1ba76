"""Karmada's names: labels, annotations, finalizers, namespaces, and the hashes inside object names.

Karmada: pkg/util/names, pkg/util/constants; same, proven by the recorded cases of `tests/data/oracle`.
"""

from functools import lru_cache

CLUSTER_CONTROLLER_FINALIZER = "karmada.io/cluster-controller"
EXECUTION_CONTROLLER_FINALIZER = "karmada.io/execution-controller"
BINDING_CONTROLLER_FINALIZER = "karmada.io/binding-controller"
CLUSTER_RESOURCE_BINDING_CONTROLLER_FINALIZER = "karmada.io/cluster-resource-binding-controller"
DEPENDENCIES_DISTRIBUTOR_FINALIZER = "karmada.io/binding-dependencies-distributor"
PROPAGATION_POLICY_CONTROLLER_FINALIZER = "karmada.io/propagation-policy-controller"
CLUSTER_PROPAGATION_POLICY_CONTROLLER_FINALIZER = "karmada.io/cluster-propagation-policy-controller"

KARMADA_SUFFIX = ".karmada.io"
"""The end of the API groups of Karmada's kinds."""
SYSTEM_NAMESPACE = "karmada-system"
CLUSTER_NAMESPACE = "karmada-cluster"
KUBE_SYSTEM_NAMESPACE = "kube-system"
"""Namespace that every API server has from its first moment on; its uid is the identity of the cluster."""
EXECUTION_SPACE_PREFIX = "karmada-es-"
RESERVED_NAMESPACES = (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE)
"""The control plane's own, beside the execution spaces."""
ADMIN_GROUP = "system:masters"
AGENT_GROUP = "system:karmada:agents"
AGENT_USER_PREFIX = "system:karmada:agent:"
"""Prefix of the name of its cluster: as whom an agent speaks to the control plane."""

KARMADA_AGENT_LEASE_PREFIX = "karmada-agent-"
"""Prefix of the name of its cluster: the Lease in `karmada-system` by which Karmada's agents choose a leader."""

RBAC_GENERATOR = "rbac-generator"
"""Name of no cluster: as `system:karmada:agent:rbac-generator`, `karmadactl register` may write any RBAC object."""
BOOTSTRAP_CLUSTER_GROUP_PREFIX = "system:bootstrappers:leeward:cluster:"
"""Prefix of the name of a cluster: the group of bootstrap tokens that are for its agent only (ours)."""
BOOTSTRAP_SINGLE_USE_GROUP = "system:bootstrappers:leeward:single-use"
"""The group of bootstrap tokens that are good for one certificate (ours)."""
BOOTSTRAP_CLUSTER_ANNOTATION = "leeward.dev/bootstrapped-cluster"
"""Annotation on a bootstrap token's Secret: the cluster whose agent got a certificate with it (ours)."""
BOOTSTRAP_REQUEST_ANNOTATION = "leeward.dev/bootstrap-request"
"""Annotation on the same Secret: the uid of the certificate request that it was used for last (ours)."""
AGENT_MADE_ANNOTATION = "leeward.dev/made-by-agent-of"
"""Annotation on a Secret in `karmada-cluster`: the cluster whose agent made it, and nobody else has written its data
(ours)."""

APPLIED_OVERRIDES_ANNOTATION = "policy.karmada.io/applied-overrides"
"""Annotation on a Work: the OverridePolicies that its manifest was made with, as JSON."""
APPLIED_CLUSTER_OVERRIDES_ANNOTATION = "policy.karmada.io/applied-cluster-overrides"
"""Annotation with the ClusterOverridePolicies that were applied."""
APPLIED_PLACEMENT_ANNOTATION = "policy.karmada.io/applied-placement"
POLICY_NAMESPACE_ANNOTATION = "propagationpolicy.karmada.io/namespace"
POLICY_NAME_ANNOTATION = "propagationpolicy.karmada.io/name"
CLUSTER_POLICY_NAME_ANNOTATION = "clusterpropagationpolicy.karmada.io/name"
BINDING_NAMESPACE_ANNOTATION = "resourcebinding.karmada.io/namespace"
BINDING_NAME_ANNOTATION = "resourcebinding.karmada.io/name"
CLUSTER_BINDING_NAME_ANNOTATION = "clusterresourcebinding.karmada.io/name"
DEPENDENCIES_ANNOTATION = "resourcebinding.karmada.io/dependencies"
WORK_NAMESPACE_ANNOTATION = "work.karmada.io/namespace"
WORK_NAME_ANNOTATION = "work.karmada.io/name"
CONFLICT_RESOLUTION_ANNOTATION = "work.karmada.io/conflict-resolution"
TEMPLATE_UID_ANNOTATION = "resourcetemplate.karmada.io/uid"
TEMPLATE_GENERATION_ANNOTATION = "resourcetemplate.karmada.io/generation"
MANAGED_LABELS_ANNOTATION = "resourcetemplate.karmada.io/managed-labels"
MANAGED_ANNOTATIONS_ANNOTATION = "resourcetemplate.karmada.io/managed-annotations"

MANAGED_LABEL = "karmada.io/managed"
SYSTEM_LABEL = "karmada.io/system"
"""`true` on what Karmada, or we, have made for ourselves, and no user."""
POLICY_ID_LABEL = "propagationpolicy.karmada.io/permanent-id"
CLUSTER_POLICY_ID_LABEL = "clusterpropagationpolicy.karmada.io/permanent-id"
BINDING_ID_LABEL = "resourcebinding.karmada.io/permanent-id"
CLUSTER_BINDING_ID_LABEL = "clusterresourcebinding.karmada.io/permanent-id"
WORK_ID_LABEL = "work.karmada.io/permanent-id"
RETAIN_REPLICAS_LABEL = "resourcetemplate.karmada.io/retain-replicas"
SKIP_NAMESPACE_LABEL = "namespace.karmada.io/skip-auto-propagation"

NOT_READY_TAINT = "cluster.karmada.io/not-ready"
UNREACHABLE_TAINT = "cluster.karmada.io/unreachable"
CONDITION_TAINT_KEYS = (NOT_READY_TAINT, UNREACHABLE_TAINT)
"""The keys of the taints that a cluster's condition Ready calls for."""
UNSCHEDULABLE_TAINT = "cluster.karmada.io/unschedulable"
DRAIN_TAINT = "leeward.dev/drain"
"""Taint that `leeward drain` sets, with the effect NoExecute (ours)."""
FLAPPING_TAINT = "leeward.dev/flapping"
"""Taint on a cluster that comes and goes: nothing new is placed there for a while; effect NoSchedule (ours)."""

ALLOW_HTTP_ANNOTATION = "leeward.dev/allow-http"
"""Annotation on a Cluster: `true` lets `spec.apiEndpoint` be an http:// URL, with credentials in the clear (ours)."""
IMPERSONATOR_ROLE_ANNOTATION = "leeward.dev/impersonator-role"
"""Annotation on a Cluster: the ClusterRole that its member itself gives to the impersonator, so that no Work does."""
DRAIN_BUDGET_ANNOTATION = "leeward.dev/drain-budget"
"""Annotation on a Cluster that is drained: how many bindings may be on their way out of it at the same time (ours)."""
WORK_GENERATION_ANNOTATION = "leeward.dev/work-generation"
"""Annotation on a member's object: the generation of the Work whose manifest was applied last (ours)."""
RENDERED_ANNOTATION = "leeward.dev/rendered"
"""Annotation on a Work: `true` where its contents were written by us, not by the Karmada before us (ours)."""
HUB_ANNOTATION = "leeward.dev/hub"
"""Annotation on a member's object: the identity of the control plane that it belongs to. On the Namespace `kube-system`
of a control plane: the identity that it takes instead of that Namespace's uid (ours)."""
REASSIGNED_ANNOTATION = "leeward.dev/reassigned"
"""Annotation on a Work that is being deleted: assigned again, its objects stay for the next Work (ours)."""
REMOVAL_HELD_ANNOTATION = "leeward.dev/removal-held"
"""Annotation on a Work. `true`: its deletion was asked for, and waits until others serve all that is asked for.
`false`: a person has ended such a wait, and it goes now (ours)."""
REMOVAL_ORDERED_ANNOTATION = "leeward.dev/removal-ordered"
"""Annotation on a Work of a Pull cluster: `true` where the controllers, and not somebody by hand, delete it (ours)."""
OUTAGE_ANNOTATION = "leeward.dev/outage-since"
"""Annotation on a Cluster that looks dead: the instant from which its eviction clock counts (ours)."""
OUTAGE_CONFIRMED_ANNOTATION = "leeward.dev/outage-confirmed"
"""Annotation on a Cluster that looks dead: the heartbeat since whose beginning that was seen anew (ours)."""
FLAPPING_ANNOTATION = "leeward.dev/flapping"
"""Annotation on a Cluster that was lost not long ago: how often, and until when it is held down, as JSON (ours)."""
POLICY_TAINTS_ANNOTATION = "leeward.dev/policy-taints"
"""Annotation on a Cluster: the taints, as `key:effect,...`, that ClusterTaintPolicy objects have added (ours)."""
POLICY_TAINTS_CONFIRMED_ANNOTATION = "leeward.dev/policy-taints-confirmed"
"""Annotation on a Cluster: the heartbeat since which its NoExecute taints by policies were found right (ours)."""
TEMPLATE_DIGEST_ANNOTATION = "leeward.dev/template-digest"
"""Annotation on a binding: what its template asked for when `spec.resource.resourceVersion` was written (ours)."""
TEMPLATE_CONTENTS_ANNOTATION = "leeward.dev/template-contents"
"""Annotation on a binding: the same without the template's metadata, by which a release is told (ours)."""
MEMORY_ANNOTATION = "leeward.dev/memory"
"""Annotation on a binding: memory of its earlier decisions, with a row for each cluster, as JSON (ours)."""
FAILBACK_ANNOTATION = "leeward.dev/failback"
"""Annotation on a policy, and from there on its bindings: `Never` or `Automatic` (ours)."""
FAILBACK_AFTER_ANNOTATION = "leeward.dev/failback-after"
"""Likewise: how long a returned cluster must have been healthy, as in `10m` (ours)."""
TIME_TO_START_ANNOTATION = "leeward.dev/time-to-start"
"""Likewise: how long a copy that was moved may take to become healthy, as in `30m` (ours)."""
FAILBACK_PACE_ANNOTATION = "leeward.dev/failback-pace"
"""Likewise: the replicas of one step, as a number or as a share of all: `2`, `25%` (ours)."""
EVICT_SHARED_ANNOTATION = "leeward.dev/evict-shared-resources"
"""Annotation on a policy and its bindings: `true` lets taints evict Namespaces and the like (ours)."""
CLAIMS_ANNOTATION = "leeward.dev/claims"
"""Annotation on a binding of a StatefulSet: the claims that its Pods use, for people (ours)."""
DEPENDENCIES_REFUSED_ANNOTATION = "leeward.dev/dependencies-refused"
"""Annotation on a Work: objects that its template names, and that its cluster does not have (ours)."""
CONFIRMED_IDENTITY_ANNOTATION = "leeward.dev/confirmed-identity"
"""Annotation on a Cluster: the identity of the rebuilt member in which volumes may be made anew (ours)."""
NAMED_CLAIMS_ANNOTATION = "leeward.dev/named-claims"
"""Annotation on a binding: the PersistentVolumeClaims that its template names, with commas between (ours)."""
WAIT_FOR_ANNOTATION = "leeward.dev/wait-for"
"""Annotation on a policy or a template, and its bindings: the gates that a replacement waits for, as YAML (ours)."""
KEEP_UNTIL_ANNOTATION = "leeward.dev/keep-until"
"""Likewise: the gates that must hold before the old copy may go (ours)."""
AWAITED_GATE_ANNOTATION = "leeward.dev/awaited-gate"
"""Annotation on a Work: the gate that does not hold yet, before which nobody relies on its copy (ours)."""
VOLUMES_FOLLOW_ANNOTATION = "leeward.dev/volumes-follow"
"""Annotation on a policy and its bindings: `true` says that all clusters have a StatefulSet's volumes (ours)."""
ALL_ADDRESSES_ANNOTATION = "leeward.dev/all-addresses"
"""Annotation on a policy and its bindings: `true` lists a Service's addresses also where nothing serves (ours)."""
SERVICE_OPTIONAL_ANNOTATION = "leeward.dev/service-optional"
"""Likewise: `true` says that its workloads may serve where no Service leads to them (ours)."""
LINT_IGNORE_ANNOTATION = "leeward.dev/lint-ignore"
"""Annotation on a policy or a template: ids of rules of `leeward lint` that it breaks, `ID,...` (ours)."""
PRESERVED_STATE_ANNOTATION = "leeward.dev/preserved-state"
"""Annotation on a binding: the labels that its last failover has preserved, and for which cluster, as JSON (ours)."""
PRESERVED_ANNOTATION = "leeward.dev/preserved"
"""Annotation on an object in a member: `true` says that it stays there when its Work goes, since its policy asks
for that (`preserveResourcesOnDeletion`). Label on one that has stayed, and is released (ours)."""
RELEASED_ANNOTATION = "leeward.dev/released"
"""Annotation on a Work that is being deleted, and whose objects stay: the marks of ownership leave these (ours)."""
RETAINED_ANNOTATION = "leeward.dev/retains-replicas"
"""Annotation on a template that a HorizontalPodAutoscaler names: `true` where `retain-replicas` was set for that."""
LAZY_DIGEST_ANNOTATION = "leeward.dev/lazy-digest"
"""Annotation on a template that a lazy policy has claimed: its contents when that policy last took effect or waited."""
HOME_ANNOTATION = "leeward.dev/home"
"""Annotation on a binding that an outage has driven from its clusters: where it was before, as JSON (ours)."""

BRAKE_NAME = "leeward-brake"
"""The ConfigMap in `karmada-system` that holds the state of the brake (ours)."""

HEARTBEAT_NAME = "leeward-heartbeat"
"""The Lease in `karmada-system` that is renewed as long as the clusters are watched (ours)."""
UNWATCHED_ANNOTATION = "leeward.dev/unwatched"
"""Annotation on that Lease: the times during which nobody watched, as `FROM/TO` with commas between (ours)."""
SWITCH_LEASE = "leeward-switch"
"""The Lease in `karmada-system` that is held while a control plane is adopted or handed back (ours)."""
SETTINGS_ANNOTATION = "leeward.dev/settings"
"""Annotation on that Lease: the thresholds, time-outs and switches of the process that watches, as JSON (ours)."""
SHARD_LEASE_PREFIX = "leeward-shard-"
"""Beginning of the names of the Leases in `karmada-system` by which shards are held (ours)."""
SHARDS_ANNOTATION = "leeward.dev/shards"
"""Annotation on the Lease of a leader: how many shards do the rest, and who says so, as `4/HOLDER` (ours)."""
SHARD_ASKED_FOR_ANNOTATION = "leeward.dev/asked-for-by"
"""Annotation on the Lease of a shard: the candidate on another machine that asks its holder for it (ours)."""

MANAGER_LEASE = "karmada-controller-manager"
"""The Lease in `karmada-system` of whichever controller manager works, Karmada's or ours."""
SCHEDULER_LEASE = "karmada-scheduler"
"""The Lease in `karmada-system` of whichever scheduler works, Karmada's or ours."""
_LEADER_MARK = "_leeward_"

EVICTION_HELD_CONDITION = "leeward.dev/EvictionHeld"
"""Condition on a binding: True while an eviction that is due is held back, with the reason (ours)."""
FAILING_CONDITION = "leeward.dev/Failing"
"""Condition on a Cluster of which `Ready` is behind: True while it fails, False while it answers again (ours)."""
NOT_OBSERVED_CONDITION = "leeward.dev/NotObserved"
"""Condition on a Cluster: True while its probes fail on the side of who asks; `Ready` stays as seen last (ours)."""
CLUSTER_OUTAGE_CONDITION = "leeward.dev/ClusterOutage"
"""Condition on a binding: True while a cluster that it is assigned to is not Ready, or has no node that is ready; with
what will become of the copy there (ours)."""
LEAVING_CONDITION = "leeward.dev/Leaving"
"""Condition on a Work: True while its copy is not wanted there, and waits to be deleted (ours)."""
REMOVAL_BLOCKED_CONDITION = "leeward.dev/RemovalBlocked"
"""Condition on a Work, and on its binding: True while finalizers of others keep a removed object there (ours)."""
VOLUMES_HELD_CONDITION = "leeward.dev/VolumesHeld"
"""Condition on a Work, and on its binding: True while it is not made in a rebuilt cluster, for its volumes (ours)."""
REACHABLE_CONDITION = "leeward.dev/Reachable"
"""Condition on a workload's binding and template: False while no Service leads to it where it serves (ours)."""
REPLACEMENT_HELD_CONDITION = "leeward.dev/ReplacementHeld"
"""Condition on a binding: True while a gate keeps a replacement from starting, or an old copy where it is (ours)."""
IDENTITY_CONDITION = "leeward.dev/Identity"
"""Condition on a Cluster: its message is the accepted identity of the member; True while that one answers (ours)."""
REPLACED_CONDITION = "leeward.dev/ClusterReplaced"
"""Condition on a Cluster: True while another cluster answers under its name, until somebody confirms it (ours)."""
LAST_SEEN_CONDITION = "leeward.dev/LastSeen"
"""Condition on a Cluster that is not Ready: False, since the first look that did not find it well (ours)."""
TAINTED_CONDITION = "leeward.dev/Tainted"
"""Condition on a Cluster: True while the control plane has set taints on it, with each and since when (ours)."""
TAINTS_REMOVED_CONDITION = "leeward.dev/TaintsRemoved"
"""Condition on a Cluster: True while others take off taints that the control plane has set, with their field managers
(ours)."""
NOT_SEEN_SINCE = "leeward.dev/notSeenSince"
"""Mark in the `status` of an aggregated item: since when nothing is known of its cluster. All else is older (ours)."""
LEAVES_AT = "leeward.dev/leavesAt"
"""Mark beside `NOT_SEEN_SINCE`: when the copy there is expected to be evicted (ours)."""
DOUBTFUL_CONDITION = "leeward.dev/DoubtfulResources"
"""Condition on a Cluster: True while its member reports absurd numbers, which were cut down, with them (ours)."""
OUTDATED_CONDITION = "leeward.dev/OutdatedResources"
"""Condition on a Cluster: True while its Nodes or Pods cannot be followed, with since when: its summary is as old."""
LOSS_COVERED_CONDITION = "leeward.dev/LossCovered"
"""Condition on a Cluster: whether the others can take over what runs there, should it be lost (ours)."""
OVERRIDE_FAILED_CONDITION = "leeward.dev/OverrideFailed"
"""Condition on a binding: True while override policies cannot be carried out in some clusters, whose Works stay as they
are; with the reason for each (ours)."""
FEATURE_HELD_CONDITION = "leeward.dev/FeatureHeld"
"""Condition on a binding: True while it keeps what it has by a feature gate that is off (ours)."""
REFUSED_CONDITION = "leeward.dev/Refused"
"""Condition on a binding: True while it is not carried out, with the reason: its template is out of its reach, or a
Work that it would need belongs to another binding (ours)."""
REFLECTED_CONDITION = "leeward.dev/Reflected"
"""Condition on a Work: its manifest statuses were read from objects that carry the generation in `observedGeneration`
(ours)."""

_SAFE_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def leader_identity(host: str, uid: str) -> str:
    """Identity as which a process of ours holds a Lease; Karmada's have a host and a uid alone."""
    return f"{host}{_LEADER_MARK}{uid}"


def host_of_leader(identity: str) -> str:
    """Host of the process of ours that holds a Lease under this identity."""
    return identity.partition(_LEADER_MARK)[0]


def lease_of_agent(cluster: str) -> str:
    """The Lease in `karmada-system` by which the agents of a cluster choose a leader, Karmada's and ours."""
    return f"{KARMADA_AGENT_LEASE_PREFIX}{cluster}"


def is_lease_of_agent(lease: str) -> bool:
    """Tells whether agents choose a leader by the Lease of this name in `karmada-system`."""
    return lease.startswith(KARMADA_AGENT_LEASE_PREFIX)


def is_our_leader(identity: str) -> bool:
    """Tells whether a process of ours holds the Lease with this holder."""
    return _LEADER_MARK in identity


def fnv1a_32(text: str) -> int:
    """The 32-bit FNV-1a hash of the UTF-8 bytes."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def safe_hash(text: str) -> str:
    """The hash of `text` in letters that spell nothing, as in Pod and Work names."""
    return "".join(_SAFE_ALPHABET[ord(digit) % len(_SAFE_ALPHABET)] for digit in str(fnv1a_32(text)))


@lru_cache(maxsize=16_384)
def depended_by_label(namespace: str, name: str) -> str:
    """The label of a dependency's binding that says which other binding needs it."""
    return f"resourcebinding.karmada.io/depended-by-{safe_hash(f'{namespace}/{name}')}"


def binding_name(kind: str, name: str) -> str:
    """The name of the binding of a template."""
    return f"{name}-{kind}".lower().replace(":", ".")


@lru_cache(maxsize=16_384)
def work_name(kind: str, name: str, namespace: str) -> str:
    """The name of the Works of a template, equal in every execution space."""
    valid = name.replace(":", ".").lower()
    hashed = f"{namespace}-{valid}-{kind}" if namespace else f"{valid}-{kind}"
    return f"{valid}-{safe_hash(hashed.lower())}"


def derived_service_name(name: str) -> str:
    """The Service that stands for a ServiceImport in each member."""
    return f"derived-{name}"


def is_reserved_namespace(namespace: str) -> bool:
    """Tells whether a namespace is the control plane's own: nothing of it is ever propagated."""
    return namespace in RESERVED_NAMESPACES or namespace.startswith(EXECUTION_SPACE_PREFIX)


def execution_space(cluster: str) -> str:
    """The namespace that holds a cluster's Works."""
    return EXECUTION_SPACE_PREFIX + cluster


def impersonator_of(cluster: str) -> str:
    """The Secret, in `karmada-cluster`, with the token that speaks for users in a cluster."""
    return f"{cluster}-impersonator"


def cluster_of_execution_space(namespace: str) -> str:
    """The inverse of `execution_space`. Raises: ValueError for another namespace."""
    if not namespace.startswith(EXECUTION_SPACE_PREFIX):
        raise ValueError(f"{namespace!r} is no execution space")
    return namespace.removeprefix(EXECUTION_SPACE_PREFIX)
