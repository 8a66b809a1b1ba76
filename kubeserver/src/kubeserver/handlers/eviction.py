"""Eviction of a Pod: what its PodDisruptionBudget says, and what it says afterwards.

The status of a budget is kept by the controllers of the cluster. Here one disruption is taken from it for each Pod that
goes, so that two evictions at once cannot both take the last.

Kubernetes: pkg/registry/core/pod/storage/eviction.go. Same, without the condition that tells the Pod why it goes.
"""

from collections.abc import Mapping
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeapi.selectors import matches
from kubeserver import errors
from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.controllers.bootstrap import SERVER
from kubeserver.errors import Refused
from kubeserver.kinds.label_selectors import parsed
from kubeserver.registry.objects import decode_stored
from kubeserver.registry.reading import prefix_of
from kubeserver.registry.writing import Writer
from kubeserver.values import entries, grown, section

BUDGETS = next(kind for kind in BUILT_IN if kind.kind == "PodDisruptionBudget")
MAX_DISRUPTED_PODS = 2000
RETRY_SECONDS = 10
_NONE: Mapping[str, Any] = {}
_MANY = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


async def take_disruption(writer: Writer, pod: ReadOnlyManifest, dry_run: bool) -> None:
    """Raises: Refused when the Pod has to stay."""
    if _needs_no_budget(pod):
        return
    budgets = _budgets_of(writer, pod)
    if len(budgets) > 1:
        raise errors.plain_error(_MANY)
    if not budgets or _may_go_unready(pod, budgets[0]):
        return
    metadata, now = pod["metadata"], format_time(writer.clock.now())

    def taken(budget: Manifest) -> Manifest:
        return _taken(budget, metadata["name"], now)

    name = budgets[0]["metadata"]["name"]
    await writer.change(BUDGETS, metadata["namespace"], name, taken, SERVER, dry_run, "status")


def _needs_no_budget(pod: ReadOnlyManifest) -> bool:
    """Tells whether it does not serve anybody, or goes anyway."""
    phase = section(pod, "status").get("phase")
    return "deletionTimestamp" in pod["metadata"] or phase in ("Pending", "Succeeded", "Failed")


def _budgets_of(writer: Writer, pod: ReadOnlyManifest) -> list[Manifest]:
    records = writer.store.list(prefix_of(BUDGETS, pod["metadata"]["namespace"])).records
    budgets = (decode_stored(BUDGETS, record.value) for record in records)
    return [budget for budget in budgets if _covers(budget, pod)]


def _covers(budget: ReadOnlyManifest, pod: ReadOnlyManifest) -> bool:
    selector = section(budget, "spec").get("selector")
    return selector is not None and matches(parsed(selector), section(pod["metadata"], "labels"))


def _may_go_unready(pod: ReadOnlyManifest, budget: ReadOnlyManifest) -> bool:
    if _condition(pod, "Ready").get("status") == "True":
        return False
    status = section(budget, "status")
    kept = 0 < status.get("desiredHealthy", 0) <= status.get("currentHealthy", 0)
    return kept or section(budget, "spec").get("unhealthyPodEvictionPolicy") == "AlwaysAllow"


def _taken(budget: Manifest, pod: str, now: str) -> Manifest:
    """Raises: Refused."""
    name, status = budget["metadata"]["name"], grown(budget, "status")
    allowed, disrupted = status.get("disruptionsAllowed", 0), grown(status, "disruptedPods")
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _violated(f"The disruption budget {name} is still being processed by the server.", RETRY_SECONDS)
    if allowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative")
    if len(disrupted) > MAX_DISRUPTED_PODS:
        raise _forbidden(name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    if allowed == 0:
        raise _violated(_why_none(name, budget), 0)
    status["disruptionsAllowed"] = allowed - 1
    disrupted[pod] = now
    condition = next((c for c in entries(status, "conditions") if c.get("type") == "DisruptionAllowed"), None)
    if allowed == 1 and condition is not None:
        condition.update(status="False", reason="InsufficientPods", lastTransitionTime=now)
    return budget


def _why_none(name: str, budget: ReadOnlyManifest) -> str:
    status, condition = section(budget, "status"), _condition(budget, "DisruptionAllowed")
    if condition.get("status") == "False" and condition.get("reason") == "SyncFailed":
        why = condition.get("message", "")
        return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {why}"
    needed, there = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    return f"The disruption budget {name} needs {needed} healthy pods and has {there} currently"


def _condition(manifest: ReadOnlyManifest, condition_type: str) -> Mapping[str, Any]:
    conditions = entries(section(manifest, "status"), "conditions")
    return next((condition for condition in conditions if condition.get("type") == condition_type), _NONE)


def _violated(why: str, seconds: int) -> Refused:
    return errors.disruption_refused("Cannot evict pod as it would violate the pod's disruption budget.", why, seconds)


def _forbidden(name: str, why: str) -> Refused:
    return errors.forbidden(BUDGETS.group, "poddisruptionbudget", name, why)
