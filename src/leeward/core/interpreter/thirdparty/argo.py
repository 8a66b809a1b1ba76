"""Argo Workflow: as many pods as its parallelism, and a status that belongs to the member while it runs."""

from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import ReplicaRequirements
from leeward.core.interpreter.fields import drop, put, text_at, value_at
from leeward.core.interpreter.rules import Rules
from leeward.core.interpreter.thirdparty.kruise import count_at, required_spec, revise_parallelism
from leeward.core.interpreter.thirdparty.pod_templates import node_claim
from leeward.core.interpreter.thirdparty.references import template_dependencies

_BAD_PHASES = ("", "Failed", "Error")


def _replicas(manifest: ReadOnlyManifest) -> tuple[int, ReplicaRequirements | None]:
    """Its templates are run one by one, so no request is counted; where they may run, is."""
    claim = node_claim(required_spec(manifest))
    return count_at(manifest, 1, "spec", "parallelism"), ReplicaRequirements(node_claim=claim) if claim else None


def _is_healthy(manifest: ReadOnlyManifest) -> bool:
    return text_at(manifest, "status", "phase") not in _BAD_PHASES


def _retain(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """Somebody in the member suspends and resumes it; its status is what its controller works from."""
    for side in (desired, observed):
        required_spec(side)
    if (suspend := value_at(observed, "spec", "suspend")) is not None:
        put(desired, suspend, "spec", "suspend")
    if (status := value_at(observed, "status")) is not None:
        put(desired, status, "status")
    else:
        drop(desired, "status")


def _dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    """Its spec names what each of its pods gets, as a pod does."""
    required_spec(manifest)
    return template_dependencies({"metadata": manifest.get("metadata"), "template": manifest}, [("template",)])


WORKFLOW = Rules(
    dependencies=_dependencies,
    replicas=_replicas,
    revise=revise_parallelism,
    is_healthy=_is_healthy,
    retain=_retain,
)
