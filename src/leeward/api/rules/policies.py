"""Rules of PropagationPolicy and ClusterPropagationPolicy.

Karmada: pkg/util/validation, pkg/webhook/propagationpolicy.
"""

from collections import Counter

from kubeapi.field import Node, Problems
from leeward.api.failback import OptionFault, parse_failback, parse_time_to_start
from leeward.api.gates import GATE_ANNOTATIONS, parse_gates, refuse_webhooks
from leeward.api.moves_with import MOVES_WITH_ANNOTATION, name_fault
from leeward.api.names import (
    ALL_ADDRESSES_ANNOTATION,
    EVICT_SHARED_ANNOTATION,
    SERVICE_OPTIONAL_ANNOTATION,
    VOLUMES_FOLLOW_ANNOTATION,
)
from leeward.api.purge_mode import GRACE_PURGE_MODES, OLD_WORDS
from leeward.api.rollout import ROLLOUT_ANNOTATION, parse_rollout
from leeward.api.rules.placements import placement_problems
from leeward.api.rules.selectors import selector_namespace_problems
from leeward.api.rules.texts import qualified_name_fault

_SWITCHES = (ALL_ADDRESSES_ANNOTATION, EVICT_SHARED_ANNOTATION, SERVICE_OPTIONAL_ANNOTATION, VOLUMES_FOLLOW_ANNOTATION)


def propagation_policy_problems(policy: Node, old: Node | None, id_label: str) -> Problems:
    yield from _scheduler_problems(policy, old)
    yield from _spec_problems(policy)
    yield from _option_problems(policy["metadata"])
    yield from _id_problems(policy, old, id_label)


def _scheduler_problems(policy: Node, old: Node | None) -> Problems:
    scheduler = policy["spec"]["schedulerName"]
    if old is not None and scheduler.text != old["spec"]["schedulerName"].text:
        yield scheduler.invalid("must not change; delete the policy and create it anew with another scheduler")


def _id_problems(policy: Node, old: Node | None, id_label: str) -> Problems:
    labels = policy["metadata"]["labels"]
    label = Node(f"metadata.labels[{id_label}]", labels.mapping.get(id_label))
    if old is not None and label.text != Node("", old["metadata"]["labels"].mapping.get(id_label)).text:
        yield label.invalid("must not change; it is set by the control plane when the policy is created")
    elif not label.text:
        yield label.required("the control plane sets it when the policy is created; is its mutating webhook running?")


def _spec_problems(policy: Node) -> Problems:
    spec, namespace = policy["spec"], policy["metadata"]["namespace"].text
    yield from placement_problems(spec["placement"])
    yield from _failover_problems(spec)
    yield from _preemption_problems(spec)
    yield from _suspension_problems(spec["suspension"])
    if namespace:
        yield from selector_namespace_problems(spec["resourceSelectors"], namespace)


def _option_problems(metadata: Node) -> Problems:
    annotations = metadata["annotations"]
    try:
        texts = {key: value for key, value in annotations.mapping.items() if isinstance(value, str)}
        parse_time_to_start(texts)
        parse_failback(texts)
        if ROLLOUT_ANNOTATION in texts:
            parse_rollout(texts[ROLLOUT_ANNOTATION])
        for annotation in GATE_ANNOTATIONS:
            gates = parse_gates(annotation, texts)
            if metadata["namespace"].text:
                refuse_webhooks(annotation, gates)
    except OptionFault as error:
        yield Node(f"{annotations.path}[{error.annotation}]", annotations.mapping.get(error.annotation)).invalid(
            error.fault
        )
    if fault := name_fault(annotations.mapping):
        name = annotations.mapping[MOVES_WITH_ANNOTATION]
        yield Node(f"{annotations.path}[{MOVES_WITH_ANNOTATION}]", name).invalid(fault)
    for name in _SWITCHES:
        value = annotations.mapping.get(name)
        if value not in (None, "true", "false"):
            yield Node(f"{annotations.path}[{name}]", value).invalid("must be true or false")


def _failover_problems(spec: Node) -> Problems:
    application = spec["failover"]["application"]
    if application.is_set:
        if spec["propagateDeps"].value is not True:
            yield spec["propagateDeps"].invalid("must be true, because application failover is set", value=False)
        yield from _application_failover_problems(application)
    yield from _state_problems(application["statePreservation"])
    yield from _state_problems(spec["failover"]["cluster"]["statePreservation"])


def _application_failover_problems(application: Node) -> Problems:
    toleration = application["decisionConditions"]["tolerationSeconds"]
    if toleration.number < 0:
        yield toleration.invalid("must be 0 or more seconds")
    grace, mode = application["gracePeriodSeconds"], application["purgeMode"].text
    has_grace = OLD_WORDS.get(mode, mode) in GRACE_PURGE_MODES
    if has_grace and not grace.is_set:
        yield grace.invalid(f"must be set when purgeMode is {mode}")
    elif has_grace and grace.number <= 0:
        yield grace.invalid("must be more than 0 seconds")
    elif not has_grace and grace.is_set:
        modes = " or ".join(GRACE_PURGE_MODES)
        yield grace.invalid(f"only takes effect when purgeMode is {modes}; remove it or change the purgeMode")


def _state_problems(preservation: Node) -> Problems:
    for rule in preservation["rules"].items():
        if fault := qualified_name_fault(rule["aliasLabelName"].text):
            yield rule["aliasLabelName"].invalid(fault)
    labels = Counter(rule["aliasLabelName"].text for rule in preservation["rules"].items())
    for label, count in labels.items():
        if count > 1:
            yield preservation["rules"].invalid(f"the label {label!r} is set by {count} rules; name each only once")


def _preemption_problems(spec: Node) -> Problems:
    if spec["preemption"].text != "Always":
        return
    for selector in spec["resourceSelectors"].items():
        if not selector["name"].text:
            yield selector["name"].invalid(
                "must not be empty when preemption is Always: the policy could take over more than is meant", value=""
            )


def _suspension_problems(suspension: Node) -> Problems:
    """Karmada names the field `suspension.suspension`, and so do we."""
    if suspension["dispatching"].value is True and suspension["dispatchingOnClusters"]["clusterNames"].list:
        yield suspension["suspension"].invalid(
            "dispatching and dispatchingOnClusters.clusterNames must not both be set", value=suspension.value
        )
