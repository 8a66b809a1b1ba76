"""S20: a change of a staged application reaches its clusters stage by stage, each of which serves with it first.

Judged is the write of a Work that asks for other contents than before, or for the first ones in its cluster. Who serves
with a change is counted from the Pods of its image in the members. Contents that all targets have had are proven: they
may go anywhere at once, as the way back does.

A restored control plane may know of an older rollout: nothing is judged behind a restore.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller_runtime import Key
from kubeapi.meta import Manifest, labels_of
from leeward.api.meta import find_condition
from leeward.api.names import cluster_of_execution_space
from leeward.api.rollout import (
    ROLLOUT_ANNOTATION,
    ROLLOUT_APPROVED_ANNOTATION,
    ROLLOUT_CONDITION,
    ROLLOUT_PAUSED_ANNOTATION,
)
from leeward.api.work import Binding, ResourceBinding, Work
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.scene import Scene, Violation, replicas_of
from simulator.histories.checkers.states import States
from simulator.histories.ground_truth import BINDINGS, HOME, OVERRIDES, TEMPLATES, WORKS, Change, GroundTruth, owner_of
from simulator.histories.manifests import BROKEN, asked_replicas
from simulator.histories.overriding import Marks, effect, marks_of

SLACK_SECONDS = 2.0
"""Seconds between a Pod that is ready, and the report of it on which the control plane counts."""
Stages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents that users want, since `at`; `overrides` are the policies in the order in which they are carried out."""

    at: float
    image: str
    told: str
    name: str
    overrides: tuple[Manifest, ...]

    def in_cluster(self, cluster: str) -> tuple[str, str, Marks] | None:
        """None where a policy cannot be carried out there."""
        marks = dict[str, str]()
        for policy in self.overrides:
            made = effect(policy, "Deployment", self.name, cluster)
            if made is None:
                return None
            marks |= made
        return self.image, self.told, marks


@dataclass(slots=True)
class StagedApplication:
    """Application of one binding. `proven` are the contents, by number, that all its targets have had at once."""

    uid: str
    wanted: list[Contents]
    staging: States[str | None] = field(default_factory=States[str | None])
    targets: States[frozenset[str]] = field(default_factory=States[frozenset[str]])
    paused: States[bool] = field(default_factory=States[bool])
    sizes: dict[str, States[int]] = field(default_factory=dict[str, States[int]])
    proven: set[int] = field(default_factory=set[int])
    approved: str = ""
    approved_at: float = float("-inf")

    def numbers(self, work: Work, cluster: str) -> set[int]:
        """Numbers of the contents that the Work may have been made of."""
        found = contents_of(work)
        return {number for number, each in enumerate(self.wanted) if each.in_cluster(cluster) == found}


class RolloutsChecker:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._applications: dict[Key, StagedApplication] = {}
        self._overrides: dict[tuple[int, Key], Manifest] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind in OVERRIDES:
            self._note_override(change)
        elif change.kind == TEMPLATES[0] and change.place == HOME:
            self._note_template(change)
        elif change.kind == BINDINGS[0]:
            self._note_binding(change)
        elif change.kind == WORKS and change.new is not None:
            yield from self._of_work(change)

    def _note_override(self, change: Change) -> None:
        place = OVERRIDES.index(change.kind), change.key
        if change.new is None:
            self._overrides.pop(place, None)
        else:
            self._overrides[place] = {"spec": change.new["spec"]}
        for key in self._applications:
            binding = self._scene.truth.bindings.get(key)
            template = self._scene.truth.template_of(binding) if binding is not None else None
            if template is not None:
                self._want(key, template, change.seconds)

    def _note_template(self, change: Change) -> None:
        key = Key(change.key.namespace, f"{change.key.name}-deployment")
        if change.new is None:
            self._applications.pop(key, None)
            return
        self._want(key, change.new, change.seconds)

    def _want(self, key: Key, template: Manifest, seconds: float) -> None:
        found = self._applications.get(key)
        if found is None or found.uid != template["metadata"]["uid"]:
            found = self._applications[key] = StagedApplication(template["metadata"]["uid"], [])
        overrides = tuple(policy for _, policy in sorted(self._overrides.items(), key=lambda each: each[0]))
        wanted = Contents(seconds, _image(template), _told(template), template["metadata"]["name"], overrides)
        last = found.wanted[-1] if found.wanted else None
        if last is None or (last.image, last.told, last.overrides) != (wanted.image, wanted.told, wanted.overrides):
            found.wanted.append(wanted)

    def _note_binding(self, change: Change) -> None:
        found, new = self._applications.get(change.key), change.new
        if found is None or new is None or new.spec.resource.uid != found.uid:
            return
        text = new.metadata.annotations.get(ROLLOUT_ANNOTATION)
        if text is not None and found.staging.states and found.staging.states[-1][1] is None:
            found.proven.clear()
        found.staging.note(change.seconds, text)
        found.targets.note(change.seconds, frozenset(replicas_of(new)))
        found.paused.note(change.seconds, new.metadata.annotations.get(ROLLOUT_PAUSED_ANNOTATION) == "true")
        approved = new.metadata.annotations.get(ROLLOUT_APPROVED_ANNOTATION, "")
        if approved != found.approved:
            found.approved, found.approved_at = approved, change.seconds
        self._note_proven(change.key, found)

    def _note_proven(self, key: Key, found: StagedApplication) -> None:
        works, targets = self._scene.truth.works_of(key), found.targets.states
        names = targets[-1][1] if targets else frozenset[str]()
        sets = [found.numbers(works[name], name) for name in names if name in works]
        if sets and (len(sets) == len(names) or not found.proven):
            found.proven |= set[int].intersection(*sets)

    def _of_work(self, change: Change) -> Iterator[Violation]:
        key, new = owner_of(change.new), change.new
        found = self._applications.get(key) if key is not None else None
        binding = self._scene.truth.bindings.get(key) if key is not None else None
        if found is None or binding is None or key is None or binding.spec.resource.uid != found.uid:
            return
        if new.metadata.deletion_timestamp is not None:
            return
        cluster, old = cluster_of_execution_space(change.key.namespace), change.old
        is_other = old is None or contents_of(old) != contents_of(new)
        if is_other and not change.restored and self._scene.restored_at == float("-inf"):
            for message in self._changed(key, binding, found, cluster, change):
                yield Violation("S20", change.seconds, f"{key}: {cluster} {message}")
        for manifest in new.spec.workload.manifests:
            found.sizes.setdefault(cluster, States[int]()).note(change.seconds, asked_replicas(manifest))
        self._note_proven(key, found)

    def _changed(
        self, key: Key, binding: ResourceBinding, found: StagedApplication, cluster: str, change: Change
    ) -> Iterator[str]:
        now = self._scene.truth.now()
        oldest = self._scene.lateness.oldest(now, CONTROLLERS)
        texts, numbers = set(found.staging.since(oldest)), found.numbers(change.new, cluster)
        text = next(iter(texts), None)
        if len(texts) != 1 or text is None or not numbers or numbers & found.proven:
            return
        if change.old is None:
            works = self._scene.truth.works_of(key).items()
            if any(found.numbers(work, name) & found.proven for name, work in works if name != cluster):
                yield f"starts with {found.wanted[max(numbers)].image}, which has not served everywhere"
            return
        if found.paused.since(oldest) == [True]:
            yield "gets a change, and a person has paused it"
        targets = frozenset[str].intersection(*(found.targets.since(oldest) or [frozenset[str]()]))
        judged = _Judged(self._scene, key, binding, found, numbers)
        yield from judged.out_of_turn(json.loads(text)["stages"], cluster, targets)


@dataclass(frozen=True, slots=True)
class _Judged:
    """A change that one cluster gets: contents with one of these `numbers`."""

    scene: Scene
    key: Key
    binding: ResourceBinding
    found: StagedApplication
    numbers: set[int]

    def out_of_turn(self, stages: Stages, cluster: str, targets: frozenset[str]) -> Iterator[str]:
        left, came = set(targets - {cluster}), self.found.wanted[min(self.numbers)].at
        for stage in stages:
            named = stage.get("clusters")
            mine = set(left) if named is None else left & set(named)
            seconds = _seconds(stage["healthyFor"])
            behind = sorted(name for name in mine if not self.has_served(name, seconds))
            if named is None or cluster in named:
                yield from self.too_many(stage, cluster, mine, targets - {cluster})
                return
            if behind:
                yield f"gets a change that {', '.join(behind)}, of an earlier stage, have not served for {seconds} s"
            if mine and stage["pause"] and self.found.approved_at < came:
                yield f"gets a change, and nobody has let it leave the stage of {', '.join(sorted(mine))}"
            left -= mine

    def too_many(self, stage: Mapping[str, Any], cluster: str, mine: set[str], others: frozenset[str]) -> Iterator[str]:
        """Judges how many others do not serve; a cluster that serves nothing loses nothing by an update."""
        copies = self.scene.truth.copies(cluster, self.binding)
        if copies.worst_since(self.scene.evidence_since(cluster)) <= 0:
            return
        seconds = _seconds(stage["healthyFor"])
        waiting = {name for name in mine if self.has_it(name) and not self.has_served(name, seconds)}
        down = sorted(waiting | {name for name in others if self.is_down(name)})
        if len(down) >= stage["maxUnavailable"]:
            yield f"gets a change while {', '.join(down)} do not serve, and {stage['maxUnavailable']} may not"

    def has_it(self, name: str) -> bool:
        work = self.scene.truth.works_of(self.key).get(name)
        return work is not None and bool(self.found.numbers(work, name) & self.numbers)

    def has_served(self, name: str, seconds: float) -> bool:
        """Tells whether it truly served with the change, as long ago as it must have, as far as one may know."""
        if self.scene.may_lie(name):
            return True
        if not self.has_it(name):
            return False
        now = self.scene.truth.now()
        until = now - seconds + SLACK_SECONDS + self.scene.skew_seconds
        since = min(self.scene.evidence_since(name), until - 2 * SLACK_SECONDS)
        images = {self.found.wanted[number].image for number in self.numbers}
        best = max(self.scene.truth.with_image(name, self.binding, image).best_since(since, until) for image in images)
        return max(0, best) >= self.least(name, since)

    def is_down(self, name: str) -> bool:
        """Tells whether everybody must know that it does not serve, and it did when the change came."""
        work = self.scene.truth.works_of(self.key).get(name)
        numbers = self.found.numbers(work, name) if work is not None else set[int]()
        if not numbers & (self.found.proven | self.numbers) or self.scene.may_lie(name):
            return False
        since, copies = self.scene.evidence_since(name), self.scene.truth.copies(name, self.binding)
        came = self.found.wanted[min(self.numbers)].at
        known = self.scene.lateness.due(came, CONTROLLERS, name) + SLACK_SECONDS
        before = copies.worst_since(self.scene.evidence_since(name, came), known)
        return copies.best_since(since) < self.least(name, since) <= before

    def least(self, name: str, since: float) -> int:
        """The fewest replicas that its Work has asked for since then."""
        return min(self.found.sizes.get(name, States[int]()).since(since), default=0)


def contents_of(work: Work) -> tuple[str, str, Marks] | None:
    manifest = next(iter(work.spec.workload.manifests), None)
    return (_image(manifest), _told(manifest), marks_of(manifest)) if manifest is not None else None


def is_staged(binding: Binding) -> bool:
    return ROLLOUT_ANNOTATION in binding.metadata.annotations


def is_stopped(truth: GroundTruth, binding: Binding) -> bool:
    """Tells whether its clusters may have older contents than its template: the binding says that it is stopped, for a
    reason that lasts."""
    found = find_condition(binding.status.conditions, ROLLOUT_CONDITION)
    return is_staged(binding) and found is not None and not _lasts(truth, binding, found.reason)


def unfinished_rollout(truth: GroundTruth, binding: Binding) -> Iterator[str]:
    """Finds a rollout that is neither done nor stopped for a reason that lasts, when nothing fails any more."""
    found = find_condition(binding.status.conditions, ROLLOUT_CONDITION)
    if not is_staged(binding) or binding.spec.resource.kind not in ("Deployment", "ConfigMap"):
        return
    if found is None:
        yield "it says nothing of its rollout"
    elif found.reason != "Complete" and (doubt := _lasts(truth, binding, found.reason)):
        yield f"its rollout is {found.reason}, {doubt}: {found.message}"


def _lasts(truth: GroundTruth, binding: Binding, reason: str) -> str:
    """Doubt about the reason for which a rollout stands still; empty where it is a good one."""
    copies = [copy for name in replicas_of(binding) if (copy := truth.copy(name, binding)) is not None]
    template = truth.template_of(binding)
    is_bad = any(map(is_broken, [*copies, *([template] if template is not None else [])]))
    match reason:
        case "Failed" | "NotServing":
            return "" if is_bad or any(map(_lacks_replicas, copies)) else "and all copies serve"
        case "Paused":
            return "" if binding.metadata.annotations.get(ROLLOUT_PAUSED_ANNOTATION) == "true" else "and nobody paused"
        case "RolledBack" | "Undone":
            return "" if len({_image(each) for each in copies}) <= 1 else "and its clusters differ"
        case "WaitingForApproval":
            return ""
        case _:
            return "and nothing fails any more" if reason != "Complete" else "and is done"


def is_broken(manifest: Manifest) -> bool:
    """Tells whether no member can run it."""
    return _image(manifest).endswith(BROKEN)


def _lacks_replicas(copy: Manifest) -> bool:
    status: Manifest = copy.get("status") or {}
    return status.get("readyReplicas", 0) < asked_replicas(copy)


def _image(manifest: Manifest) -> str:
    pod = manifest.get("spec", {}).get("template", {}).get("spec", {})
    return next((each["image"] for each in pod.get("containers", ())), "")


def _told(manifest: Manifest) -> str:
    return labels_of(manifest).get("told", "")


def _seconds(text: str) -> int:
    return int(text.removesuffix("s"))
