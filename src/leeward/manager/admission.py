"""Admission of Karmada's kinds: defaults, rules, what other objects forbid, and warnings of what is ignored."""

from collections.abc import Iterator

from kubeapi import codec
from kubeapi.core import EVENTS, LEASES, Lease
from kubeapi.field import Node
from kubeapi.loop import Clock, Randomness
from kubeapi.meta import Manifest, ReadOnlyManifest, labels_of
from kubeapi.status import Problem
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.auth.authorization.attributes import Attributes
from kubeserver.auth.authorization.rbac import Rbac
from kubeserver.registry.room import StoreBounds
from kubeserver.store import Store, StoredAmount
from kubeserver.values import section
from kubeserver.warnings import warn
from leeward.api.defaulting import DefaultingSettings, apply_defaults
from leeward.api.names import (
    CLUSTER_POLICY_ID_LABEL,
    HEARTBEAT_NAME,
    KARMADA_SUFFIX,
    POLICY_ID_LABEL,
    SETTINGS_ANNOTATION,
    SYSTEM_NAMESPACE,
    is_reserved_namespace,
)
from leeward.api.resource import (
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTERS,
    OUTAGES,
    OVERRIDE_POLICIES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    RESOURCE_INTERPRETER_CUSTOMIZATIONS,
    RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS,
    WORKS,
)
from leeward.api.rules.bounds import policy_count_problem
from leeward.api.rules.interpreters import webhook_address_problems
from leeward.api.rules.member_addresses import DEFAULT_RULES, AddressRules, address_problems
from leeward.api.validation import validate_bounds, validate_change, validate_deletion, validate_types
from leeward.core.admission_warnings import GATES_WARNED_OF, asks_for_one_of, old_word_warnings, warnings_for
from leeward.core.member_credentials import exposed_secrets, exposure_refusal
from leeward.core.propagation.reach import Reach, reference_problems
from leeward.core.registration import IDENTIFYING_NAMESPACE, Joined, problem_of_identity
from leeward.core.settings_in_force import parse_settings
from leeward.lua.checking import customization_problems
from leeward.manager.agents import AgentRights
from leeward.manager.settings import StorageSettings
from leeward.manager.timing import Timing

_INTERPRETERS = RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS, RESOURCE_INTERPRETER_CUSTOMIZATIONS
_WEBHOOKS, _CUSTOMIZATIONS = (f"/{each.group}/{each.plural}/" for each in _INTERPRETERS)
_HEARTBEAT = f"/{LEASES.group}/{LEASES.plural}/{SYSTEM_NAMESPACE}/{HEARTBEAT_NAME}"
_CLUSTERS, _NAMESPACES = f"/{CLUSTERS.group}/{CLUSTERS.plural}/", "//namespaces/"

_OWN = frozenset(
    f"/{own.group}/{own.plural}/"
    for own in (CLUSTERS, CLUSTER_RESOURCE_BINDINGS, EVENTS, LEASES, OUTAGES, RESOURCE_BINDINGS, WORKS)
)
_LARGE = frozenset({f"/{WORKS.group}/{WORKS.plural}/"})
"""Works carry a whole template. One that an earlier version has stored must find a place in another cluster."""
_COUNTED = frozenset(f"/{policy.group}/{policy.plural}/" for policy in (PROPAGATION_POLICIES, OVERRIDE_POLICIES))


def is_own_object(prefix: str, namespace: str) -> bool:
    """Tells whether objects under `/<group>/<plural>/` in a namespace are written for a failover: somebody's ConfigMaps
    must not hold it up."""
    return prefix in _OWN or is_reserved_namespace(namespace)


def store_bounds(storage: StorageSettings) -> StoreBounds:
    """Bounds of the store for users; objects that controllers write for themselves have more room."""
    return StoreBounds(
        namespace=StoredAmount(storage.namespace_objects, storage.namespace_bytes),
        store=StoredAmount(storage.store_objects, storage.store_bytes),
        is_own=is_own_object,
        large=_LARGE,
        holds_here=quota_holds_here,
    )


def quota_holds_here(quota: ReadOnlyManifest) -> bool:
    """Tells whether a ResourceQuota limits the control plane: one that a policy propagates is meant for members."""
    labels = labels_of(quota)
    return POLICY_ID_LABEL not in labels and CLUSTER_POLICY_ID_LABEL not in labels


class KarmadaAdmission:
    """An `Admission` for the embedded API server; `store` is that server's own.

    Other kinds than Karmada's are only asked about when they are deleted, and pass otherwise: Leases are most writes.
    `addresses` says where a Cluster, or an interpreter webhook, must not lead.
    """

    def __init__(
        self,
        clock: Clock,
        randomness: Randomness,
        timing: Timing,
        store: Store,
        reach: Reach | None = None,
        addresses: AddressRules = DEFAULT_RULES,
    ) -> None:
        self._clock = clock
        self._randomness = randomness
        self._timing = timing
        self._store = store
        self._rbac = Rbac(store, AgentRights(store))
        self._reach = reach or Reach()
        self._addresses = addresses

    def admit(self, review: AdmissionReview) -> Manifest:
        if review.operation == "DELETE":
            if problems := validate_deletion(review.object):
                raise Rejected(problems[0].message)
            return review.object
        if not review.kind.group.endswith(KARMADA_SUFFIX):
            return review.object
        old = dict(review.old_object) if review.old_object is not None else None
        _refuse(validate_bounds(review.object, old))
        if review.operation == "CREATE" and review.namespace and review.kind.prefix in _COUNTED:
            self._refuse_one_more(review)
        settings = DefaultingSettings(
            now=self._clock.now(),
            new_uid=self._randomness.uid,
            not_ready_toleration_seconds=self._timing.default_not_ready_toleration_seconds,
            unreachable_toleration_seconds=self._timing.default_unreachable_toleration_seconds,
        )
        obj = apply_defaults(review.object, settings, old)
        _refuse([*validate_types(obj, old), *validate_change(obj, old), *reference_problems(obj, old, self._reach)])
        if review.kind.prefix == _CLUSTERS:
            if _id(obj) != _id(old or {}):
                self._refuse_joined(obj)
            self._refuse_to_show(review, obj)
            _refuse(list(address_problems(Node("", obj), Node("", old or {}), self._addresses)))
        if review.kind.prefix == _WEBHOOKS:
            _refuse(list(webhook_address_problems(Node("", obj), Node("", old or {}), self._addresses)))
        if review.kind.prefix == _CUSTOMIZATIONS:
            _refuse(customization_problems(obj, self._customizations()))
        warnings = warnings_for(obj)
        if any(asks_for_one_of(warning, GATES_WARNED_OF) for warning in warnings):
            warnings = warnings_for(obj, self._gates())
        for warning in (*old_word_warnings(review.object), *warnings):
            warn(warning)
        return obj

    def _gates(self) -> tuple[str, ...]:
        """Gates that are on in the process that watches the clusters, as its heartbeat tells."""
        record = self._store.head(_HEARTBEAT)
        lease = codec.decode(record.value, Lease) if record is not None else None
        told = lease.metadata.annotations.get(SETTINGS_ANNOTATION, "") if lease is not None else ""
        return parse_settings(told).gates_on if told else ()

    def _customizations(self) -> Iterator[Manifest]:
        for record in self._store.list(_CUSTOMIZATIONS).records:
            yield codec.decode_manifest(record.value)

    def _refuse_one_more(self, review: AdmissionReview) -> None:
        """Raises: Rejected when the namespace has as many policies of the kind as it may have."""
        there = self._store.list(f"{review.kind.prefix}{review.namespace}/", limit=1)
        count = len(there.records) + there.remaining
        if problem := policy_count_problem(review.namespace, review.resource.plural, count):
            raise Rejected(problems=[problem])

    def _refuse_to_show(self, review: AdmissionReview, cluster: Manifest) -> None:
        """Raises: Rejected when the writer may not read the Secrets that the Cluster has shown."""
        for secret in exposed_secrets(cluster, review.old_object, review.user.groups):
            asked = Attributes("get", resource="secrets", namespace=secret.namespace, name=secret.name)
            if not self._rbac.decide(review.user, asked).allowed:
                raise Rejected(exposure_refusal(review.user.name, secret))

    def _refuse_joined(self, cluster: ReadOnlyManifest) -> None:
        """Raises: Rejected when the cluster has joined under another name, or is the control plane itself."""
        name, cluster_id = cluster["metadata"]["name"], _id(cluster)
        if problem := problem_of_identity(name, cluster_id, self._joined(), self._own_id()):
            raise Rejected(problems=[Problem.invalid("spec.id", cluster_id, problem)])

    def _joined(self) -> Iterator[Joined]:
        for record in self._store.list(_CLUSTERS).records:
            cluster = codec.decode_manifest(record.value)
            yield Joined(cluster["metadata"]["name"], _id(cluster), section(cluster, "spec").get("syncMode", ""))

    def _own_id(self) -> str:
        """Identity of the control plane, as of any cluster."""
        record = self._store.head(f"{_NAMESPACES}/{IDENTIFYING_NAMESPACE}")
        return codec.decode_manifest(record.value)["metadata"]["uid"] if record is not None else ""


def _id(cluster: ReadOnlyManifest) -> str:
    return section(cluster, "spec").get("id", "")


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise Rejected(problems=problems)
