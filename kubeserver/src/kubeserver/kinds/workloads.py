"""Deployments and their like: defaults of everything with a selector and a pod template."""

from typing import Any

from kubeapi.meta import Manifest
from kubeserver.kinds.basics import default_claim
from kubeserver.kinds.pod_rules.texts import MAX_INT32
from kubeserver.kinds.pods import default_pod_spec
from kubeserver.values import entries, grown, section

_UID = "batch.kubernetes.io/controller-uid"
UID_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/job-name", _UID)
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _spec(manifest: Manifest) -> dict[str, Any]:
    return grown(manifest, "spec")


def _default_template(spec: dict[str, Any]) -> None:
    template = grown(spec, "template")
    template.setdefault("metadata", {})
    default_pod_spec(grown(template, "spec"))


def default_deployment(manifest: Manifest) -> None:
    spec = _spec(manifest)
    _default_template(spec)
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = grown(spec, "strategy")
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = grown(strategy, "rollingUpdate")
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    manifest.setdefault("status", {})


def default_replica_set(manifest: Manifest) -> None:
    spec = _spec(manifest)
    _default_template(spec)
    spec.setdefault("replicas", 1)
    manifest.setdefault("status", {"replicas": 0})


def default_replication_controller(manifest: Manifest) -> None:
    spec = _spec(manifest)
    spec.setdefault("replicas", 1)
    if "template" in spec:
        _default_template(spec)
    labels = section(section(section(spec, "template"), "metadata"), "labels")
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    labelled_as_its_pods(manifest)
    manifest.setdefault("status", {"replicas": 0})


def default_stateful_set(manifest: Manifest) -> None:
    spec = _spec(manifest)
    _default_template(spec)
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    spec.setdefault("serviceName", "")
    retention = grown(spec, "persistentVolumeClaimRetentionPolicy")
    retention.update({"whenDeleted": "Retain", "whenScaled": "Retain", **retention})
    if "ordinals" in spec:
        grown(spec, "ordinals").setdefault("start", 0)
    for claim in entries(spec, "volumeClaimTemplates"):
        claim.update({"apiVersion": "v1", "kind": "PersistentVolumeClaim"})
        default_claim(claim)
    strategy = grown(spec, "updateStrategy")
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        grown(strategy, "rollingUpdate")
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    manifest.setdefault("status", {"replicas": 0, "availableReplicas": 0})


def default_daemon_set(manifest: Manifest) -> None:
    spec = _spec(manifest)
    manifest["metadata"]["annotations"] = {TEMPLATE_GENERATION: "0", **section(manifest["metadata"], "annotations")}
    _default_template(spec)
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = grown(spec, "updateStrategy")
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = grown(strategy, "rollingUpdate")
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    manifest.setdefault("status", dict.fromkeys(counts, 0))


def default_job(manifest: Manifest) -> None:
    spec = _spec(manifest)
    _default_job_spec(spec)
    manifest.setdefault("status", {})


def select_own_pods(manifest: Manifest) -> None:
    """A Job selects its own Pods. Labels and selectors that say something else stay, for validation to name."""
    spec = _spec(manifest)
    if not spec.get("manualSelector"):
        own, template = own_labels(manifest), grown(spec, "template")
        metadata = grown(template, "metadata")
        metadata["labels"] = {**own, **section(metadata, "labels")}
        selector = grown(spec, "selector")
        selector["matchLabels"] = {_UID: own[_UID], **section(selector, "matchLabels")}


def own_labels(manifest: Manifest) -> dict[str, str]:
    """The labels that are made for the Pods of a Job, with a prefix and, as ever, without."""
    uid, name = manifest["metadata"].get("uid", ""), manifest["metadata"].get("name", "")
    return dict(zip(UID_LABELS, (uid, name, name, uid), strict=True))


def _default_failure_policy(spec: dict[str, Any]) -> None:
    for rule in entries(section(spec, "podFailurePolicy"), "rules"):
        for pattern in entries(rule, "onPodConditions"):
            pattern.setdefault("status", "True")


def _default_job_spec(spec: dict[str, Any]) -> None:
    _default_template(spec)
    _default_failure_policy(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else MAX_INT32)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")


def labelled_as_its_pods(manifest: Manifest) -> None:
    """Gives it the labels of its Pods where it has none of its own."""
    metadata, labels = (
        manifest["metadata"],
        section(section(section(manifest["spec"], "template"), "metadata"), "labels"),
    )
    if labels and not metadata.get("labels"):
        metadata["labels"] = dict(labels)


def default_cron_job(manifest: Manifest) -> None:
    spec = _spec(manifest)
    template = grown(spec, "jobTemplate")
    template.setdefault("metadata", {})
    job = grown(template, "spec")
    _default_template(job)
    _default_failure_policy(job)
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    manifest.setdefault("status", {})
