"""Rules of Cluster and ClusterTaintPolicy. Karmada: pkg/apis/cluster/validation, pkg/webhook/clustertaintpolicy."""

from itertools import pairwise

from kubeapi.field import Node, Problems
from kubeapi.urls import endpoint_fault, proxy_fault
from leeward.api.rules.texts import cluster_name_fault, label_value_fault, qualified_name_fault


def cluster_problems(cluster: Node) -> Problems:
    spec = cluster["spec"]
    if fault := cluster_name_fault(cluster["metadata"]["name"].text):
        yield cluster["metadata"]["name"].invalid(fault)
    yield from _connection_problems(spec)
    yield from _location_problems(spec)
    yield from _taint_problems(spec["taints"])
    if spec["resourceModels"].list:
        yield from _model_problems(spec["resourceModels"])


def _connection_problems(spec: Node) -> Problems:
    if not spec["syncMode"].text:
        yield spec["syncMode"].required("set Push or Pull")
    if spec["syncMode"].text not in ("Pull", "Push"):
        yield Node(spec["syncMode"].path, spec["syncMode"].text).not_supported("Pull", "Push")
    for reference in (spec["secretRef"], spec["impersonatorSecretRef"]):
        for field in (reference["namespace"], reference["name"]):
            if reference.is_set and not field.text:
                yield field.required(f"set the {field.path.rpartition('.')[2]} of the Secret")
    for field, fault_of in ((spec["apiEndpoint"], endpoint_fault), (spec["proxyURL"], proxy_fault)):
        if field.text and (fault := fault_of(field.text)):
            yield field.invalid(fault)


def _location_problems(spec: Node) -> Problems:
    """Karmada names two of the fields `spec.Zone` and `spec.spec`, and so do we."""
    for field in (spec["provider"], spec["region"], Node(f"{spec.path}.Zone", spec["zone"].value)):
        if fault := label_value_fault(field.text):
            yield field.invalid(fault)
    if spec["zone"].text and spec["zones"].list:
        yield spec["spec"].invalid("zone and zones must not both be set; keep zones", value=spec["zone"].text)


def _taint_problems(taints: Node) -> Problems:
    seen: set[tuple[str, str]] = set()
    for taint in taints.items():
        key, effect = taint["key"], taint["effect"]
        if fault := qualified_name_fault(key.text):
            yield key.invalid(fault, value=key.text)
        if fault := label_value_fault(taint["value"].text):
            yield taint["value"].invalid(fault)
        if not effect.text:
            yield effect.required("set NoSchedule or NoExecute")
        elif effect.text not in ("NoSchedule", "NoExecute"):
            yield effect.not_supported("NoSchedule", "NoExecute")
        if (key.text, effect.text) in seen:
            yield taint.duplicate("taints must be unique by key and effect; remove one")
        seen.add((key.text, effect.text))


def _model_problems(models: Node) -> Problems:
    """Karmada names the list for all of these; so do we, and the message says which grade."""
    grades = [model["grade"].number for model in models.items()]
    if len(set(grades)) < len(grades):
        yield models.invalid("each model must have a grade of its own", value=grades)
    names = [[each["name"].text for each in model["ranges"].items()] for model in models.items()]
    if any(listed != names[0] for listed in names):
        yield models.invalid("all models must list the same resources in the same order", value=names)
        return
    yield from _range_problems(models)


def _range_problems(models: Node) -> Problems:
    for model in models.items():
        for each in model["ranges"].items():
            minimum, maximum = each["min"].quantity, each["max"].quantity
            if minimum is None or maximum is None or minimum >= maximum:
                yield models.invalid(f"min and max must be quantities, min the lower: {each.path}", value=each.value)
    for lower, upper in pairwise(models.items()):
        for before, after in zip(lower["ranges"].items(), upper["ranges"].items(), strict=True):
            if before["max"].quantity != after["min"].quantity:
                yield models.invalid(
                    f"ranges must follow each other without a gap: {after.path}.min must be {before.path}.max",
                    value=after["min"].value,
                )


def taint_policy_problems(policy: Node, allow_no_execute: bool) -> Problems:
    taints = list(policy["spec"]["taints"].items())
    identities = [(taint["key"].text, taint["effect"].text) for taint in taints]
    last = {identity: index for index, identity in enumerate(identities)}
    for index, taint in enumerate(taints):
        if last[identities[index]] != index:
            yield taint.duplicate("taints must be unique by key and effect; remove one")
        if taint["effect"].text == "NoExecute" and not allow_no_execute:
            yield taint.forbidden(
                "the effect NoExecute is switched off; an administrator can allow it by --allow-no-execute-taint-policy"
            )
