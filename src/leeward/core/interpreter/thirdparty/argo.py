"""Argo Workflow: as many pods as its parallelism, and a status that belongs to the member while it runs."""

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import drop, mapping_at, mappings_at, put, text_at, value_at
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import ReplicaRequirements
from leeward.core.interpreter.dependencies import pod_dependencies
from leeward.core.interpreter.rules import Rules
from leeward.core.interpreter.thirdparty.kruise import count_at, required_spec, revise_parallelism
from leeward.core.interpreter.thirdparty.pod_templates import node_claim
from leeward.core.interpreter.thirdparty.references import namespace_of, template_dependencies

_BAD_PHASES = ("", "Failed", "Error")


def _replicas(manifest: ReadOnlyManifest) -> tuple[int, ReplicaRequirements | None]:
    """Number of templates that run at once. No request is counted, as they run one by one; where they may run, is."""
    claim = node_claim(required_spec(manifest))
    return count_at(manifest, 1, "spec", "parallelism"), ReplicaRequirements(node_claim=claim) if claim else None


def _retain(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """Retains the suspension, which is up to somebody in the member; its status is what its controller works from."""
    if (suspend := required_spec(observed).get("suspend")) is not None:
        required_spec(desired)
        put(desired, suspend, "spec", "suspend")
    if (status := value_at(observed, "status")) is not None:
        put(desired, status, "status")
    else:
        drop(desired, "status")


def _dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    """Dependencies by its spec, which names what each of its pods gets, as a pod does, and each of its templates what
    that one's pod gets.

    Karmada: differs. It leaves the templates out, so that their steps fail in the cluster that takes over.
    """
    required_spec(manifest)
    whole = {"metadata": manifest.get("metadata"), "template": manifest}
    named = template_dependencies(whole, [("template",)], without_spec=True)
    namespace = namespace_of(manifest)
    steps = (_pod_of(template) for template in mappings_at(manifest, "spec", "templates"))
    return [*named, *(each for pod in steps for each in pod_dependencies(pod, namespace))]


def _pod_of(template: ReadOnlyManifest) -> Manifest:
    """Pod of a template, as a pod says it."""
    several = (*mappings_at(template, "sidecars"), *mappings_at(template, "containerSet", "containers"))
    containers = [mapping_at(template, "container"), mapping_at(template, "script"), *several]
    inits, volumes = mappings_at(template, "initContainers"), mappings_at(template, "volumes")
    account = text_at(template, "serviceAccountName")
    return {"containers": containers, "initContainers": inits, "volumes": volumes, "serviceAccountName": account}


KINDS = {
    ("argoproj.io/v1alpha1", "Workflow"): Rules(
        dependencies=_dependencies,
        replicas=_replicas,
        revise=revise_parallelism,
        is_healthy=lambda manifest: text_at(manifest, "status", "phase") not in _BAD_PHASES,
        retain=_retain,
    )
}
