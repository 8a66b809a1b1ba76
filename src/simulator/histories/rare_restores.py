"""Rare situations of a control plane that is restored: the third part of `rare`."""

from collections.abc import Iterator

from leeward.api.names import cluster_of_execution_space
from simulator.histories.checkers.restores import template_uid, work_of
from simulator.histories.checkers.scene import Scene, tasks_of
from simulator.histories.ground_truth import KINDS, WORKS, Change
from simulator.histories.model import HubIsRestored, Step

FORGOTTEN = "the hub is restored, and has forgotten what runs"
EVICTING = "the hub is restored into the middle of an eviction"
OVERTAKEN = "the hub is restored, and was about to remove what is wanted by now"
STAYING = "the hub is restored, and its controllers go on"
ADOPTED = "what the hub has forgotten is given to it again"
SECOND_LIFE = "the hub is restored, and knows an earlier application of the name alone"
CLEARED = "orphans are listed, and go when that is asked for"
RESTORES = (FORGOTTEN, EVICTING, OVERTAKEN, STAYING, ADOPTED, SECOND_LIFE, CLEARED)


def of_step(step: Step) -> Iterator[str]:
    if isinstance(step, HubIsRestored) and step.controllers_stay:
        yield STAYING


def of_scene(scene: Scene) -> Iterator[str]:
    """Situations of a scene, as the control plane has just been restored."""
    if scene.orphaned:
        yield FORGOTTEN
    if any(tasks_of(binding) for binding in scene.truth.bindings.values()):
        yield EVICTING
    if any(
        template_uid(copy) in scene.forgotten_templates and work_of(copy) in scene.truth.works
        for member in scene.truth.members
        for prefix in KINDS.values()
        for copy in scene.truth.of(prefix, member).values()
    ):
        yield SECOND_LIFE
    if scene.overtaken:
        yield OVERTAKEN


def of_change(scene: Scene, change: Change) -> Iterator[str]:
    """Situations of a change; to be asked before the checkers are."""
    is_work = change.kind == WORKS and change.new is not None and scene.is_restored
    if is_work and (cluster_of_execution_space(change.key.namespace), change.key) in scene.orphaned:
        yield ADOPTED
