"""Convergence: what has to hold once nothing fails any more: the world is as users want it (L1), and nothing is left
over (L3)."""

from collections.abc import Collection, Iterator, Mapping

from controller_runtime import Key
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, annotations_of
from leeward.api.meta import find_condition
from leeward.api.names import (
    CONDITION_TAINT_KEYS,
    EVICTION_HELD_CONDITION,
    PRESERVED_ANNOTATION,
    REMOVAL_BLOCKED_CONDITION,
    WORK_NAME_ANNOTATION,
    WORK_NAMESPACE_ANNOTATION,
    cluster_of_execution_space,
)
from leeward.api.work import Binding, ResourceBinding, Work
from leeward.core.copies.job_copies import is_complete_job, is_job
from leeward.core.interpreter.jobs import says_finished
from simulator.histories.checkers.claims import unclaimed
from simulator.histories.checkers.outage_objects import unfinished
from simulator.histories.checkers.quotas import EXCEEDED, unlimited
from simulator.histories.checkers.rollouts import is_broken, is_stopped, unfinished_rollout
from simulator.histories.checkers.scene import Scene, replicas_of, tasks_of
from simulator.histories.ground_truth import (
    HOME,
    KINDS,
    POLICIES,
    WORKS,
    Change,
    GroundTruth,
    is_execution_space,
    owner_of,
)
from simulator.histories.manifests import asked_replicas, is_autoscaled
from simulator.histories.named_objects import (
    Named,
    doubted_in,
    follows,
    has_to_do_without,
    is_foreign,
    is_used_beside,
    named_in,
    needed_in,
    there,
)
from simulator.histories.overriding import inner_marks_of, marks_of, overridden, resized, unmarked

UNSCHEDULABLE = "Unschedulable"


def unsettled(scene: Scene, members: Mapping[str, str], forsaken: Collection[str] = ()) -> list[str]:
    """Finds what is not yet as it has to be. `members` by name, with their mode; what `forsaken` ones run is left
    alone."""
    truth = scene.truth
    problems = [*_clusters(truth, members), *_bindings(truth), *_works(scene)]
    for key, binding in _all(truth):
        problems += [f"{key}: {problem}" for problem in _binding(truth, key, binding)]
    for key, binding in truth.bindings.items():
        problems += [f"{key}: {problem}" for problem in _dependencies(truth, key, binding)]
    problems += [*unclaimed(scene), *unlimited(scene, [name for name in members if name not in forsaken])]
    problems += unfinished(truth)
    for name in members:
        if name not in forsaken:
            problems += _left_over(scene, name)
    return problems


def _clusters(truth: GroundTruth, members: Mapping[str, str]) -> Iterator[str]:
    clusters = truth.clusters
    for name in members:
        cluster = clusters.get(name)
        if cluster is None:
            yield f"{name} has not joined"
        elif cluster.is_being_deleted:
            yield f"{name} is being deleted"
        elif not cluster.is_ready:
            yield f"{name} is not Ready"
        elif any(taint.key in CONDITION_TAINT_KEYS for taint in cluster.taints):
            yield f"{name} has still the taints {', '.join(map(str, cluster.taints))}"
    for key in truth.of("//namespaces/"):
        if is_execution_space(key.name) and cluster_of_execution_space(key.name) not in clusters:
            yield f"the namespace {key.name} is left over"


def _all(truth: GroundTruth) -> Iterator[tuple[Key, Binding]]:
    yield from truth.bindings.items()
    yield from truth.cluster_bindings.items()


def selected(truth: GroundTruth) -> set[tuple[str, str, str]]:
    """The templates that policies select by name: kind, namespace, name."""
    return {
        (selector["kind"], key.namespace, selector["name"])
        for prefix in POLICIES
        for key, policy in truth.of(prefix).items()
        for selector in policy["spec"]["resourceSelectors"]
    }


def _bindings(truth: GroundTruth) -> Iterator[str]:
    """Finds what is wrong with bindings: there is one for each template that has a policy, and no other."""
    wanted = selected(truth)
    for kind_name, prefix in KINDS.items():
        for key, template in truth.of(prefix).items():
            if (kind_name, key.namespace, key.name) not in wanted:
                continue
            binding = truth.any_binding(Key(key.namespace, f"{key.name}-{kind_name.lower()}"))
            if binding is None:
                yield f"{kind_name} {key} has no binding"
            elif binding.spec.resource.uid != template["metadata"]["uid"]:
                yield f"the binding of {kind_name} {key} is that of an earlier one"
    for key, binding in _all(truth):
        if truth.template_of(binding) is None:
            yield f"the binding {key} is left over: its template is gone"


def _binding(truth: GroundTruth, key: Key, binding: Binding) -> Iterator[str]:
    template = truth.template_of(binding)
    if binding.metadata.deletion_timestamp is not None or template is None:
        yield "it is being deleted"
        return
    spec, targets = binding.spec, replicas_of(binding)
    held = set(tasks_of(binding)) if _is_held_for_room(binding) else set[str]()
    required = {target.name for snapshot in spec.required_by for target in snapshot.clusters}
    if spec.graceful_eviction_tasks and not held:
        yield f"it is still being evicted from {', '.join(t.from_cluster for t in spec.graceful_eviction_tasks)}"
    if spec.replicas != asked_replicas(template):
        yield f"it asks for {spec.replicas} replicas, its template does not"
    scheduled = find_condition(binding.status.conditions, "Scheduled")
    is_placed = scheduled is not None and scheduled.status == "True"
    is_over = is_job(template) and says_finished(template.get("status"))
    if is_placed and spec.is_divided and not _adds_up(sum(targets.values()), spec.replicas, is_over=is_over):
        yield f"{targets} is not {spec.replicas}, and it does not say that it is unschedulable (S3)"
    if is_placed and not targets and spec.replicas and not is_over:
        yield "it is placed nowhere, and does not say so"
    if not is_placed and scheduled is None and spec.placement is not None:
        yield "it has not been scheduled"
    works = truth.works_of(key)
    kept = {name for name, work in works.items() if _is_kept(truth, key, binding, work)}
    for name in sorted((set(works) ^ {*targets, *held, *required}) - kept):
        yield f"its Work in {name} is {'left over' if name in works else 'missing'}"
    yield from unfinished_rollout(truth, binding)
    for name, replicas in {**dict.fromkeys(required, 0), **targets}.items():
        yield from _copy(truth, binding, template, name, replicas, works.get(name))


def _adds_up(assigned: int, asked: int, *, is_over: bool) -> bool:
    """Tells whether targets have as many replicas as are asked for. A Job that has ended is not begun again where
    clusters of it have left the fleet, joined again or not (S1)."""
    return assigned <= asked if is_over else assigned == asked


def _is_held_for_room(binding: Binding) -> bool:
    """Tells whether more replicas are asked for than are placed, so that the old copies stay (S1), and the binding says
    so."""
    held = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    return _is_unplaced(binding) and held is not None and held.reason == "ReplacementMissing"


def _is_unplaced(binding: Binding) -> bool:
    """Tells whether more is asked for than finds room, or than a quota allows, and the binding says so. Clusters that
    have to be spread over are searched for in another way, whose failures have a reason of their own."""
    scheduled, placement = find_condition(binding.status.conditions, "Scheduled"), binding.spec.placement
    is_spread = placement is not None and bool(placement.spread_constraints)
    reasons = (UNSCHEDULABLE, EXCEEDED, "SchedulerError") if is_spread else (UNSCHEDULABLE, EXCEEDED)
    return scheduled is not None and scheduled.status == "False" and scheduled.reason in reasons


def _is_kept(truth: GroundTruth, key: Key, binding: Binding, work: Work) -> bool:
    """Tells whether a copy stays, and the binding says so, since what was to replace it has found no place, or not for
    all of it, or one that somebody else's object takes (S1); or since an operator keeps data for it (S12), or a copy
    there uses it."""
    blocked = find_condition(binding.status.conditions, REMOVAL_BLOCKED_CONDITION)
    works, targets = truth.works_of(key), replicas_of(binding)
    if blocked is not None and blocked.reason == "VolumesStay":
        return _has_claims(truth, binding, cluster_of_execution_space(work.namespace))
    finds_no_place = not targets or _is_unplaced(binding)
    waits = finds_no_place or any(_is_in_vain(truth, binding, name, works) for name in targets)
    is_lost = blocked is not None and blocked.reason == "ReplacementLost"
    return work.is_leaving and ((waits and is_lost) or is_used_beside(truth, binding, work))


def _is_in_vain(truth: GroundTruth, binding: Binding, name: str, works: Mapping[str, Work]) -> bool:
    """Tells whether the target cannot serve: somebody else's object takes its place, or no member can run it."""
    copy = truth.copy(name, binding)
    return is_foreign(works.get(name)) or (copy is not None and _cannot_run(truth, binding, copy, name))


def _has_claims(truth: GroundTruth, binding: Binding, member: str) -> bool:
    """Tells whether the copy there is a claim, or claims in the member belong to it: an operator keeps data for it."""
    copy = truth.copy(member, binding)
    if copy is None or copy["kind"] == "PersistentVolumeClaim":
        return copy is not None
    claims, uid = truth.of(KINDS["PersistentVolumeClaim"], member).values(), copy["metadata"]["uid"]
    return any(uid == owner["uid"] for claim in claims for owner in claim["metadata"].get("ownerReferences", ()))


def _kept_beyond(truth: GroundTruth, binding: Binding) -> int:
    """Replicas that copies of a divided binding keep beyond those that they are assigned, and it says so (S1): as many
    find no room or are more than a quota allows, or are assigned to a target in vain."""
    blocked = find_condition(binding.status.conditions, REMOVAL_BLOCKED_CONDITION)
    if not binding.spec.is_divided or blocked is None or blocked.reason != "ReplacementLost":
        return 0
    works, targets = truth.works_of(Key(binding.namespace, binding.name)), replicas_of(binding)
    unplaced = binding.spec.replicas - sum(targets.values()) if _is_unplaced(binding) else 0
    return unplaced + sum(replicas for name, replicas in targets.items() if _is_in_vain(truth, binding, name, works))


def _copy(
    truth: GroundTruth, binding: Binding, template: Manifest, name: str, replicas: int, work: Work | None
) -> Iterator[str]:
    copy = truth.copy(name, binding)
    if is_foreign(work) or (copy is None and work is not None and is_complete_job(work)):
        return
    if copy is None:
        yield f"there is no copy in {name}"
        return
    wanted = overridden(truth, binding.spec.resource.kind, binding.spec.resource.name, name)
    is_older = is_stopped(truth, binding)
    if not is_older and (marks_of(copy), inner_marks_of(copy)) != (wanted, wanted):
        yield f"the copy in {name} is overridden as {dict(marks_of(copy))} instead of {dict(wanted)}"
    if binding.spec.resource.kind in ("ConfigMap", "Secret"):
        if not is_equal(unmarked(copy.get("data") or {}), template.get("data")):
            yield f"the copy in {name} has other contents"
        return
    if copy["spec"].get("suspend") != template["spec"].get("suspend"):
        yield f"the copy in {name} is not suspended as its template is"
    if binding.spec.resource.kind not in ("Deployment", "Batch"):
        return
    given = resized(truth, binding.spec.resource.kind, binding.spec.resource.name, name)
    replicas = replicas if given is None else given
    has = copy["spec"].get("replicas", 0)
    if is_autoscaled(copy) or replicas < has <= replicas + _kept_beyond(truth, binding):
        replicas = has
    if copy["spec"].get("replicas") != replicas:
        yield f"the copy in {name} has {copy['spec'].get('replicas')} replicas instead of {replicas}"
    elif copy.get("status", {}).get("readyReplicas", 0) != replicas and not _cannot_run(truth, binding, copy, name):
        yield f"of {replicas} replicas in {name} {copy.get('status', {}).get('readyReplicas', 0)} are ready"
    if not is_older and _image(copy) != _image(template):
        yield f"the copy in {name} runs {_image(copy)} instead of {_image(template)}"


def _cannot_run(truth: GroundTruth, binding: Binding, copy: Manifest, name: str) -> bool:
    return is_broken(copy) or _outgrows(truth, binding, copy) or has_to_do_without(truth, binding, copy, name)


def _dependencies(truth: GroundTruth, key: Key, binding: ResourceBinding) -> Iterator[str]:
    """Finds what is wrong with dependencies: what its template names is where it is; and nothing that no policy has
    placed is where nobody needs it."""
    template, resource = truth.template_of(binding), binding.spec.resource
    named = named_in(template) if template is not None and follows(binding) else frozenset[Named]()
    for needed in sorted(named):
        if there(truth, needed, key.namespace, HOME) is not None:
            for cluster in replicas_of(binding):
                if there(truth, needed, key.namespace, cluster) is None:
                    yield f"it names the {needed[0]} {needed[1]}, which is not in {cluster}"
    if binding.spec.placement is None and resource.kind != "PersistentVolumeClaim":
        needed_by = needed_in(truth, (resource.kind, resource.name), key.namespace)
        for cluster in sorted(set(truth.works_of(key)) - needed_by - set(doubted_in(truth, binding))):
            yield f"it is in {cluster}, where nobody needs it"


def _outgrows(truth: GroundTruth, binding: Binding, copy: Manifest) -> bool:
    """Tells whether the copy has an older revision that asks for more than the template, by which room was counted."""
    template = truth.template_of(binding)
    is_older = template is not None and copy["kind"] == "Deployment" and is_stopped(truth, binding)
    return template is not None and is_older and _cpu(copy) > _cpu(template)


def _cpu(deployment: Manifest) -> int:
    """CPUs that a replica asks for."""
    return int(deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _image(manifest: Manifest) -> str:
    return manifest["spec"]["template"]["spec"]["containers"][0]["image"]


def forsakes(truth: GroundTruth, change: Change) -> str | None:
    """The member whose Work goes without being taken back: a dead cluster that leaves keeps what it runs."""
    if change.kind != WORKS or change.new is not None:
        return None
    cluster = truth.clusters.get(cluster_of_execution_space(change.key.namespace))
    return cluster.name if cluster is not None and cluster.is_being_deleted and not cluster.is_ready else None


def _works(scene: Scene) -> Iterator[str]:
    """Finds Works that are left over. Where the control plane was restored, those whose binding is gone stay until
    somebody reads of them (`orphans.clear_orphans`)."""
    truth = scene.truth
    for key, work in truth.works.items():
        owner = owner_of(work)
        binding = None if owner is None else truth.any_binding(owner)
        if work.metadata.deletion_timestamp is not None:
            if owner is None or binding is None or not _is_kept(truth, owner, binding, work):
                yield f"the Work {key} is still being deleted"
        elif owner is not None and binding is None and not scene.is_restored:
            yield f"the Work {key} is left over: its binding {owner} is gone"


def forgotten_works(truth: GroundTruth) -> set[Key]:
    """Works that name a binding which is gone, and which nobody takes away."""
    return {
        key
        for key, work in truth.works.items()
        if work.metadata.deletion_timestamp is None
        and (owner := owner_of(work)) is not None
        and truth.any_binding(owner) is None
    }


def _left_over(scene: Scene, member: str) -> Iterator[str]:
    """Objects in a member that say they were made from a Work that is not there, and that somebody must remember.

    A preserved one stays for good. A member that comes back old has lost its release, and no more."""
    there = scene.truth.works
    for prefix in KINDS.values():
        for key, copy in scene.truth.of(prefix, member).items():
            annotations = annotations_of(copy)
            name = annotations.get(WORK_NAME_ANNOTATION)
            work = Key(annotations.get(WORK_NAMESPACE_ANNOTATION, ""), name or "")
            is_listed = scene.is_orphan(member, work)
            is_listed |= member in scene.forgotten and annotations.get(PRESERVED_ANNOTATION) == "true"
            if name is not None and work not in there and not is_listed:
                yield f"{key} in {member} is left over: its Work {work} is gone"
