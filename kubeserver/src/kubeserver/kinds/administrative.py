"""The columns that kubectl shows for what administrators keep: quotas, signing requests, classes, revisions, scales."""

from collections.abc import Callable

from kubeapi.meta import ReadOnlyManifest
from kubeserver.kinds.columns import AGE, NONE, at, containers, count, described, duration, field, labels, text
from kubeserver.kinds.kind import Column
from kubeserver.values import entries, section


def _requested_duration(request: ReadOnlyManifest) -> str:
    seconds = at(request, "spec.expirationSeconds")
    return NONE if seconds is None else duration(seconds)


def _signing_condition(request: ReadOnlyManifest) -> str:
    """Words for what was decided, and for what came of it: `Approved,Issued`."""
    status = section(request, "status")
    said = {condition.get("type") for condition in entries(status, "conditions")}
    decided = next((kind for kind in ("Denied", "Approved") if kind in said), "Pending")
    failed, issued = "Failed" in said, bool(status.get("certificate"))
    return ",".join((decided, *(("Failed",) if failed else ()), *(("Issued",) if issued else ())))


def _quota(quota: ReadOnlyManifest, *, limits: bool) -> str:
    """Cell with what is used of each hard limit, either of the `limits.*` or of everything else."""
    status = section(quota, "status")
    hard, used = section(status, "hard"), section(status, "used")
    names = sorted(name for name in hard if name.startswith("limits.") == limits)
    return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)


def _controller(revision: ReadOnlyManifest) -> str:
    for owner in entries(section(revision, "metadata"), "ownerReferences"):
        if owner.get("controller"):
            group = str(owner.get("apiVersion", "")).rpartition("/")[0]
            return ".".join(filter(None, (owner.get("kind", ""), group))).lower() + f"/{owner.get('name', '')}"
    return NONE


def _class_parameters(ingress_class: ReadOnlyManifest) -> str:
    parameters = section(section(ingress_class, "spec"), "parameters")
    if not parameters:
        return NONE
    kind = ".".join(filter(None, (parameters.get("kind", ""), parameters.get("apiGroup"))))
    return f"{kind}/{parameters.get('name', '')}"


def _param_kind(policy: ReadOnlyManifest) -> str:
    kind = section(section(policy, "spec"), "paramKind")
    return "/".join(filter(None, (str(kind.get("apiVersion", "")), str(kind.get("kind", "")))))


def _param_ref(binding: ReadOnlyManifest) -> str:
    reference = section(section(binding, "spec"), "paramRef")
    return "/".join((reference.get("namespace") or "*", reference.get("name") or "*")) if reference else ""


def _component_state(component: ReadOnlyManifest) -> str:
    said = [c.get("status", "") for c in entries(component, "conditions") if c.get("type") == "Healthy"]
    return {"True": "Healthy", "False": "Unhealthy"}.get(said[0] if said else "", "Unknown")


def _component_said(field: str) -> Callable[[ReadOnlyManifest], str]:
    return lambda component: ",".join(filter(None, (c.get(field) for c in entries(component, "conditions"))))


COMPONENTS = described(
    "COMPONENTS",
    Column("Status", text(_component_state)),
    Column("Message", text(_component_said("message"))),
    Column("Error", text(_component_said("error"))),
)
SIGNING_REQUESTS = described(
    "SIGNING_REQUESTS",
    AGE,
    Column("SignerName", field("spec.signerName")),
    Column("Requestor", field("spec.username", "")),
    Column("RequestedDuration", text(_requested_duration)),
    Column("Condition", text(_signing_condition)),
)
QUOTAS = described(
    "QUOTAS",
    Column("Request", text(lambda m: _quota(m, limits=False))),
    Column("Limit", text(lambda m: _quota(m, limits=True))),
    AGE,
)
POD_TEMPLATES = described(
    "POD_TEMPLATES",
    Column("Containers", containers("template.spec.containers", "name")),
    Column("Images", containers("template.spec.containers", "image")),
    Column("Pod Labels", text(lambda m: labels(at(m, "template.metadata.labels")))),
)
REVISIONS = described(
    "REVISIONS", Column("Controller", text(_controller)), Column("Revision", field("revision", 0)), AGE
)
INGRESS_CLASSES = described(
    "INGRESS_CLASSES",
    Column("Controller", field("spec.controller", "")),
    Column("Parameters", text(_class_parameters)),
    AGE,
)
WEBHOOKS = described("WEBHOOKS", Column("Webhooks", count("webhooks"), "integer"), AGE)
SCALES = described(
    "SCALES",
    Column("Desired", field("spec.replicas", 0), "integer"),
    Column("Available", field("status.replicas", 0), "integer"),
    AGE,
)
POLICIES = described(
    "POLICIES",
    Column("Validations", count("spec.validations"), "integer"),
    Column("ParamKind", text(lambda m: _param_kind(m) or "<unset>")),
    AGE,
)
MUTATING_POLICIES = described(
    "MUTATING_POLICIES",
    Column("Mutations", count("spec.mutations"), "integer"),
    Column("ParamKind", text(lambda m: _param_kind(m) or "<unset>")),
    AGE,
)
POLICY_BINDINGS = described(
    "POLICY_BINDINGS",
    Column("PolicyName", field("spec.policyName", "")),
    Column("ParamRef", text(lambda m: _param_ref(m) or "<unset>")),
    AGE,
)
