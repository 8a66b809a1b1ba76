"""StatefulSets and custom resources with claims: a copy that moves without its volumes starts empty, and two copies of
an ordinal write at once.

    purge mode      volumes stay behind              volumes follow (annotation of the policy)
    Gracefully      it stays (`VolumesStay`)         it moves, and the old copy is gone before the new one is made
    Directly        it moves, and starts empty       it moves
    Never           it stays                         it stays: each ordinal would run twice

Holds: S7, S12. Karmada moves it in any case.
"""

from collections.abc import Sequence
from typing import Any, cast

from kubeapi.codec import to_wire
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import list_at, text_at
from leeward.api.names import CLAIMS_ANNOTATION, VOLUMES_FOLLOW_ANNOTATION
from leeward.api.ordinals import volumes_follow
from leeward.api.purge_mode import DEFAULT_PURGE_MODE, PurgeMode, rules_of
from leeward.api.work import Binding
from leeward.core.copies.job_copies import is_cron_job
from leeward.core.eviction.due_evictions import purge_mode_of
from leeward.core.eviction.shared_resources import stays_under_taints
from leeward.core.interpreter import is_defined
from leeward.core.wording import first_of

UNKNOWN = "which are not known yet"


def claims_of(template: ReadOnlyManifest) -> tuple[str, ...]:
    """The claims that a StatefulSet makes for each of its Pods, and those that its Pods name; none of other kinds."""
    if not _is_stateful_set(template):
        return ()
    made = (text_at(claim, "metadata", "name") for claim in list_at(template, "spec", "volumeClaimTemplates"))
    volumes = list_at(template, "spec", "template", "spec", "volumes")
    named = (text_at(volume, "persistentVolumeClaim", "claimName") for volume in volumes)
    return tuple(dict.fromkeys(name for name in (*made, *named) if name))


def _is_stateful_set(resource: ReadOnlyManifest) -> bool:
    return resource.get("kind") == "StatefulSet" and str(resource.get("apiVersion")).startswith("apps/")


def claims_annotation(template: ReadOnlyManifest) -> dict[str, str]:
    """Annotation of a binding about the claims of its StatefulSet; empty where it has none."""
    return {CLAIMS_ANNOTATION: first_of(claims_of(template))} if _is_stateful_set(template) else {}


def noted_claims(binding: Binding) -> tuple[str, ...]:
    """Claims of its template by the binding's annotation, and those of its copies in their members. The last of each
    may be a number: `2 more`."""
    said = (binding.metadata.annotations.get(CLAIMS_ANNOTATION, ""), *_owned(binding))
    names = (name for each in said if each != UNKNOWN for part in each.split(" and ") for name in part.split(", "))
    return tuple(dict.fromkeys(filter(None, names)))


def has_claims(binding: Binding) -> bool:
    """Tells whether it claims volumes, also where that is not known. A StatefulSet's binding of an earlier version, of
    Karmada or of somebody else says nothing, until it is brought up to date. A custom resource has those that an
    operator made for a copy of it, and may have some where nobody could look (`with_owned_claims`)."""
    said = binding.metadata.annotations.get(CLAIMS_ANNOTATION)
    is_claiming = _is_stateful_set(to_wire(binding.spec.resource)) if said is None else bool(said)
    return is_claiming or any(_owned(binding))


def with_owned_claims(status: object, names: Sequence[str] | None) -> Any:
    """The status of a member's object that also names the claims which belong to it; None: nobody could look."""
    known = cast(Manifest, status) if isinstance(status, dict) else {}
    said = UNKNOWN if names is None else first_of(names)
    return {**known, CLAIMS_ANNOTATION: said} if said else cast(Any, status)


def owned_claims_in(status: object) -> str:
    """Claims that belong to a member's object, as `with_owned_claims` has put them there."""
    return text_at(status, CLAIMS_ANNOTATION)


def keeps_owned(binding: Binding) -> bool:
    """Tells whether a removed copy stays while claims, runs of a CronJob, or objects of others would go along."""
    mode, resource = purge_mode_of(binding.spec.failover, DEFAULT_PURGE_MODE), to_wire(binding.spec.resource)
    keeps, owns = is_cron_job(resource) or stays_under_taints(binding), not volumes_follow(binding)
    return rules_of(mode).keeps_copy and (keeps or (owns and (is_defined(resource) or _is_stateful_set(resource))))


def why_claims_stay(kind: str, name: str, names: Sequence[str] | None) -> str:
    """Reason why a member's object is not deleted, and the way out."""
    if names is None:
        return f"whether claims belong to {kind} {name} cannot be told: the cluster refuses to list its claims"
    return (
        f"the claims {first_of(names)} belong to {kind} {name}, and would be deleted with it; "
        "save their data, then delete it in that cluster"
    )


def why_runs_end_first(name: str, runs: Sequence[str]) -> str:
    """Reason why a member's CronJob is not deleted yet."""
    return f"CronJob {name} begins no run any more, and is deleted when {first_of(runs)} has ended"


def _owned(binding: Binding) -> list[str]:
    return [owned_claims_in(item.status) for item in binding.status.aggregated_status]


def stay_behind(binding: Binding, mode: PurgeMode) -> bool:
    """Tells whether nothing but a person's change moves this binding, since its volumes would not come along."""
    rules = rules_of(mode)
    if not has_claims(binding) or not rules.keeps_copy:
        return False
    return rules.suppresses or not volumes_follow(binding)


def purge_mode_with_volumes(binding: Binding, mode: PurgeMode) -> PurgeMode:
    """Purge mode of a binding with volumes: those that follow are written by one copy at a time."""
    follows = has_claims(binding) and rules_of(mode).keeps_copy and not stay_behind(binding, mode)
    return PurgeMode.DIRECTLY if follows else mode


def why_volumes_stay(binding: Binding) -> str:
    """Reason why a StatefulSet does not move, and the ways out."""
    return (
        f"the volumes of the claims ({first_of(noted_claims(binding)) or UNKNOWN}) would stay behind. If the storage "
        f"is replicated, annotate the policy with {VOLUMES_FOLLOW_ANNOTATION}=true. The application then moves with "
        f"its data, but stays if purgeMode is {PurgeMode.NEVER}. With purgeMode {PurgeMode.DIRECTLY} and without the "
        "annotation, the application moves and starts without its data"
    )
