"""Replay of decisions: each one that the scheduler takes in a history is taken again on what a file would say of it.

A decision is a function of its snapshot (decision 46). What production keeps from one decision to the next, such as
arrays, answers and reservations, may make it faster, and must not show in it; nor may anything that is not recorded.
"""

from collections.abc import Callable
from dataclasses import fields, replace

from leeward.core.copies.evidence import is_judged_by_manifests
from leeward.core.placement import Decision, Snapshot
from leeward.planning.batch import owner_of
from leeward.planning.group_decisions import decide_together
from leeward.planning.recording import decode_recorded, encode_snapshot


class DecisionReplay:
    """`differs` is told of each decision that is another one when it is taken again."""

    def __init__(self, differs: Callable[[str], None]) -> None:
        self._differs = differs
        self.count = 0

    def look(self, snapshot: Snapshot, decision: Decision) -> None:
        """Decides again from what is recorded; to be called before anything else is decided on the same fleet."""
        self.count += 1
        again = decide_together(_with_outlines(decode_recorded(encode_snapshot(snapshot))[0]))
        if again != decision:
            name = owner_of(snapshot.binding)
            self._differs(f"{name} is decided otherwise from what is recorded: {_difference(decision, again)}")


def _with_outlines(snapshot: Snapshot) -> Snapshot:
    """The snapshot with Works as surveys have them (`Informer.list_outlines`): those decide alike."""
    works = {
        name: work if is_judged_by_manifests(work) else work.without_manifests()
        for name, work in snapshot.works.items()
    }
    return replace(snapshot, works=works)


def _difference(decision: Decision, again: Decision) -> str:
    pairs = ((f.name, getattr(decision, f.name), getattr(again, f.name)) for f in fields(Decision))
    return "; ".join(f"{name} {first}, then {second}" for name, first, second in pairs if first != second)
