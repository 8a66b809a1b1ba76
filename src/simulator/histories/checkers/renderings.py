"""S14: what a Work asks for in a cluster is what override policies make of it there, all of it, or what it asked for
before; and what its member holds is what a Work asks for.

Policies of histories leave marks (`histories/overriding.py`), so that this is judged without rendering anything.
"""

from collections.abc import Iterator
from datetime import datetime

from controller_runtime import Key
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, annotations_of
from leeward.api.names import WORK_NAME_ANNOTATION, WORK_NAMESPACE_ANNOTATION, cluster_of_execution_space
from leeward.api.rollout import REVISION_ANNOTATION
from leeward.api.work import Work
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.scene import Scene, Violation, seconds_of
from simulator.histories.checkers.states import States
from simulator.histories.ground_truth import HOME, OVERRIDES, TEMPLATES, WORKS, Change, asks_otherwise, is_ours
from simulator.histories.overriding import MARK, Marks, effect, inner_marks_of, marks_of

YOUNG_SECONDS = 2.0
"""Objects tell to the second when they were made; what is older when it appears comes back from another time."""


class RenderingsChecker:
    """`_policies`: states of each, by kind and name; None for its absence. A restore makes them as they were. `_been`
    are the states of all times: a revision is of any of these. `_marks`: those of each Work."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._policies: dict[tuple[str, Key], States[Manifest | None]] = {}
        self._been: dict[tuple[str, Key], list[Manifest | None]] = {}
        self._marks: dict[Key, States[list[Marks]]] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind in OVERRIDES:
            self._note(change)
        elif change.kind == WORKS and change.new is not None and asks_otherwise(change):
            yield from self._rendered(change, change.old, change.new)
        elif change.place != HOME and change.kind in TEMPLATES and change.new is not None:
            for message in self._carried_out(change):
                yield Violation("S14", change.seconds, f"{change.key} in {change.place} {message}")

    def _note(self, change: Change) -> None:
        known = self._policies.setdefault((change.kind, change.key), States[Manifest | None]([(float("-inf"), None)]))
        spec = None if change.new is None else {"spec": change.new["spec"]}
        self._been.setdefault((change.kind, change.key), [None]).append(spec)
        if change.restored:
            known.states = [(float("-inf"), spec)]
        known.note(change.seconds, spec)

    def _rendered(self, change: Change, old: Work | None, new: Work) -> Iterator[Violation]:
        manifests: tuple[Manifest, ...] = new.spec.workload.manifests
        marks = [marks_of(manifest) for manifest in manifests]
        known = self._marks.setdefault(change.key, States[list[Marks]]())
        known.note(float("-inf") if change.restored else change.seconds, marks)
        is_same = old is not None and is_equal(old.spec.workload, new.spec.workload)
        if is_same or new.metadata.deletion_timestamp is not None or self._scene.knows_more:
            return
        cluster = cluster_of_execution_space(change.key.namespace)
        for manifest in manifests:
            for message in self._problems(manifest, cluster, REVISION_ANNOTATION in new.metadata.annotations):
                yield Violation("S14", change.seconds, f"the Work {change.key} {message}")

    def _problems(self, manifest: Manifest, cluster: str, staged: bool) -> Iterator[str]:
        """Judges by the policies as they are; of a `staged` application by each that has been: S20 says when."""
        marks, inner = marks_of(manifest), inner_marks_of(manifest)
        if marks != inner:
            yield f"is overridden by half: {dict(marks)}, and inside {dict(inner)}"
        oldest = self._scene.lateness.oldest(self._scene.truth.now(), CONTROLLERS)
        allowed: dict[str, set[str | None]] = {}
        for kind in OVERRIDES:
            for named, states in sorted(each for each in self._policies.items() if each[0][0] == kind):
                key, possible = named[1], self._been[named] if staged else states.since(oldest)
                found = [_effect(state, manifest, cluster) for state in possible]
                if all(each is None for each in found):
                    yield f"was written though {key.name} cannot be carried out in {cluster}"
                mark = MARK + key.name
                values = {each.get(mark) for each in found if each is not None}
                before = allowed.get(mark, {None}) if None in values else set[str | None]()
                allowed[mark] = (values - {None}) | before
        for mark in sorted({*marks, *allowed}):
            if marks.get(mark) not in allowed.get(mark, {None}):
                told = sorted(str(value) for value in allowed.get(mark, {None}))
                yield f"has {mark}={marks.get(mark)}, where {' or '.join(told)} is right"

    def _carried_out(self, change: Change) -> Iterator[str]:
        """Judges where the marks of an object change: they become those of its Work."""
        manifest: Manifest = change.new
        marks = marks_of(manifest)
        if (
            change.old is not None
            and marks_of(change.old) == marks
            and inner_marks_of(change.old) == inner_marks_of(manifest)
        ):
            return
        if not is_ours(manifest) or self._is_strange(change) or self._scene.knows_more:
            return
        if marks != inner_marks_of(manifest):
            yield f"is overridden by half: {dict(marks)}, and inside {dict(inner_marks_of(manifest))}"
        annotations = annotations_of(manifest)
        work = Key(annotations.get(WORK_NAMESPACE_ANNOTATION, ""), annotations[WORK_NAME_ANNOTATION])
        parties = (change.place,) if change.place in self._scene.pulling else (CONTROLLERS, change.place)
        oldest = self._scene.lateness.oldest(self._scene.truth.now(), *parties)
        asked = [each for each in self._marks[work].since(oldest) if each] if work in self._marks else []
        if asked and [marks] not in asked:
            yield f"has {dict(marks)}, where its Work asks for {asked[-1]}"

    def _is_strange(self, change: Change) -> bool:
        """Tells whether people have had their hands in it, or it comes back from another time."""
        plural = "deployments" if change.kind == TEMPLATES[0] else "configmaps"
        text = change.new["metadata"].get("creationTimestamp")
        made = seconds_of(datetime.fromisoformat(text)) if text else change.seconds
        is_old = change.old is None and made < change.seconds - YOUNG_SECONDS
        return is_old or (change.place, plural, change.key.name) in self._scene.touched


def _effect(state: Manifest | None, manifest: Manifest, cluster: str) -> Marks | None:
    """Marks of a policy in this state; none of one that is not there."""
    return effect(state, manifest["kind"], manifest["metadata"]["name"], cluster) if state is not None else {}
