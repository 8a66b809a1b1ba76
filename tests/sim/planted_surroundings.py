"""Planted bugs about what surrounds the control plane: git tools, autoscalers and Jobs; and about fleets of two."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.taint_record import NO_RECORD, TaintRecord
from leeward.controllers.cluster import standing
from leeward.controllers.execution import member_objects, object_removal
from leeward.core.cluster_health import brake
from leeward.core.cluster_health.standing_taints import record_taints
from leeward.core.copies import availability
from leeward.core.interpreter import interpret
from leeward.core.overrides import override_rule
from leeward.core.placement import situation
from leeward.runtime import member_works
from leeward.runtime.interpreter import Interpreter
from simulator.histories.model import (
    AnyStep,
    Deploy,
    Drain,
    History,
    MemberHangs,
    MemberLosesData,
    MemberStops,
    Mode,
    SyncClusters,
)
from simulator.histories.overriding import REPLICAS
from simulator.histories.steered.casting import THREE, Casting, evenly, in_turn, web
from simulator.histories.steered.restored_hub import second_life
from simulator.histories.steered.surroundings import operated, preserved, resized, taken_names, tasks
from tests.sim.planted_harm import PUSHED, Harm, both

_TWO: tuple[tuple[str, Mode], ...] = (("m1", "Push"), ("m2", "Push"))
_IN_GIT = History(
    seed=9,
    members=PUSHED,
    steps=(
        web(evenly(*THREE, toleration_seconds=40)),
        SyncClusters(at=60, clusters=THREE, how="put", every=5, lasts=200),
        MemberStops(at=80, lasts=170, member="m1"),
    ),
)


def _drained(seconds: int) -> History:
    """A cluster is drained in which a Job runs, or has run, for so long."""
    job = Deploy(at=42, app="bill", plan=in_turn(*THREE), job="Job", seconds=seconds)
    return History(seed=9, members=PUSHED, steps=(job, Drain(at=80, cluster="m1", lasts=300)))


def _emptied() -> History:
    """A cluster in which a Job has run comes back empty, before its copy would move."""
    job = Deploy(at=42, app="bill", plan=in_turn(*THREE), job="Job", seconds=5)
    return History(seed=9, members=PUSHED, steps=(job, MemberLosesData(at=80, lasts=20, member="m1")))


def _record_no_taints() -> Any:
    """A taint that was taken off comes back with a new date."""

    def nothing(*_: Any) -> TaintRecord:
        return NO_RECORD

    return mock.patch.object(standing, "record_taints", nothing)


def _date_taints_too_early() -> Any:
    """A taint that was taken off counts from half a minute before it was first set."""

    def early(cluster: Cluster, *arguments: Any) -> TaintRecord:
        found, before = record_taints(cluster, *arguments), cluster.taint_record
        entries = (
            entry if before.find(entry.key, by_policy=entry.by_policy) else replace(entry, taint=_older(entry.taint))
            for entry in found.entries
        )
        return replace(found, entries=tuple(entries))

    return mock.patch.object(standing, "record_taints", early)


def _older(taint: Any) -> Any:
    added = taint.time_added
    return taint if added is None else msgspec.structs.replace(taint, time_added=added - timedelta(seconds=30))


def _scale_back() -> Any:
    """The replicas of a copy are always ours."""
    retain = Interpreter.retain

    async def ours(self: Interpreter, desired: Any, observed: Any) -> Any:
        kept = await retain(self, desired, observed)
        return {**kept, "spec": desired["spec"]} if desired["kind"] == "Deployment" else kept

    return mock.patch.object(Interpreter, "retain", ours)


def _forget_sizes() -> Any:
    """An override of replicas is left out."""
    patch_document = override_rule.patch_document

    def smaller(document: Any, pointer: str, *arguments: Any) -> None:
        if pointer != REPLICAS:
            patch_document(document, pointer, *arguments)

    return mock.patch.object(override_rule, "patch_document", smaller)


def _move_what_has_ended() -> Any:
    """A Job that has ended moves like one that runs."""
    return mock.patch.object(situation, "over_in", return_value=frozenset())


def _do_again_what_has_ended() -> Any:
    """A Job that has ended, and is gone from its member, is made there anew."""
    return mock.patch.object(member_objects, "is_complete_job", return_value=False)


def _leave_marks_on_what_stays() -> Any:
    """Objects that are preserved keep the marks of their Work, and the next one of its name takes them back."""

    def nothing(_: Any) -> dict[str, Any]:
        return {"metadata": {}}

    return both(
        mock.patch.object(object_removal, "release_patch", nothing),
        mock.patch.object(member_works, "was_left", return_value=False),
    )


def _rely_on_what_others_have() -> Any:
    """A copy that runs on somebody else's configuration replaces ours."""
    return mock.patch.object(availability, "refused_dependencies", return_value="")


def _write_over_what_others_have() -> Any:
    """Every object of a member is ours."""
    return mock.patch.object(member_works.MemberWorks, "owns", return_value=True)


def _replace_what_runs() -> Any:
    """A Job that has begun elsewhere replaces one that runs."""
    return both(
        *(mock.patch.object(module, "is_job_under_way", return_value=False) for module in (availability, situation))
    )


def _move_what_an_operator_keeps() -> Any:
    """Copies with claims of their own move like all others, and nobody looks at these before a copy is deleted."""
    moved = mock.patch.object(situation, "stay_behind", return_value=False)
    return both(moved, mock.patch.object(object_removal.ObjectRemoval, "_keep_owned", mock.AsyncMock()))


def _delete_what_came_later() -> Any:
    """An order is about whatever bears the name."""
    return mock.patch.object(object_removal, "is_order_about", return_value=True)


def _judge_without_a_word() -> Any:
    """A custom resource is healthy once it is applied."""
    return mock.patch.object(interpret, "lacks_health_rule", return_value=False)


def _brake_from_three_clusters_on() -> Any:
    """Fewer clusters than the brake's minimum are no mass failure, though they be all."""
    is_alarming = brake.is_alarming

    def large(clusters: Any, *arguments: Any, **more: Any) -> bool:
        clusters = list(clusters)
        return len(clusters) > 2 and is_alarming(clusters, *arguments, **more)

    return mock.patch.object(brake, "is_alarming", large)


def _led(story: Callable[[Casting], Sequence[AnyStep]], turn: int = 0) -> History:
    """The history of a story, in which nothing else is drawn."""
    steps = story(Casting(random.Random(9), turn))
    return History(seed=9, members=PUSHED, steps=tuple(sorted(steps, key=lambda step: step.at)))


SURROUNDINGS: Mapping[str, Harm] = {
    "record no taints": Harm(_record_no_taints, "L2", _IN_GIT),
    "date taints too early": Harm(_date_taints_too_early, "S13", _IN_GIT),
    "scale back what is autoscaled": Harm(_scale_back, "S9", _led(resized)),
    "forget overrides of replicas": Harm(_forget_sizes, "L1", _led(resized)),
    "leave marks on what stays": Harm(_leave_marks_on_what_stays, "S6", _led(preserved)),
    "move a Job that has ended": Harm(_move_what_has_ended, "S12", _led(tasks)),
    "replace a Job that runs": Harm(_replace_what_runs, "S1", _drained(180)),
    "do a Job again that has ended": Harm(_move_what_has_ended, "S1", _drained(5)),
    "do a Job again in its place": Harm(_do_again_what_has_ended, "S1", _emptied()),
    "rely on what others have": Harm(_rely_on_what_others_have, "S1", _led(taken_names, 1)),
    "write over what others have": Harm(_write_over_what_others_have, "S6", _led(taken_names, 1)),
    "move what an operator keeps": Harm(_move_what_an_operator_keeps, "S12", _led(operated)),
    "delete what came later": Harm(_delete_what_came_later, "S5", _led(second_life)),
    "judge without a word": Harm(_judge_without_a_word, "S1", _led(operated)),
    "brake from three clusters on": Harm(
        _brake_from_three_clusters_on,
        "S4",
        History(
            seed=9,
            members=_TWO,
            steps=(
                web(evenly("m1", "m2")),
                *(MemberHangs(at=80 + 30 * n, lasts=100 - 30 * n, member=name) for n, (name, _) in enumerate(_TWO)),
            ),
        ),
    ),
}
