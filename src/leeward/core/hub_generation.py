"""Generation of a hub: of two copies of one control plane, the one that took over last is the hub.

    hub      annotation leeward.dev/hub-generation of its Namespace kube-system, which `leeward take-over` raises
    member   annotation leeward.dev/hub-fence of its Namespace kube-system: the newest generation of each hub, as JSON

A generation is a number, the count of members that told theirs to the take-over, and a claim, its instant and a random
ending: `1/3:2026-11-29T12:00:00Z-x`. A take-over that sees the mark of another has a higher number. Of two with one
number, neither saw a mark of the other: the one that saw more members is the newer. So a hub that works in most of
them gives way to no later one, whatever a clock says. Where both saw equally many, the first claim is the newer.

A hub with an older generation than its member knows is fenced there. It sends nothing, and what it cannot see is
neither healthy nor gone (Holds: S1, S5). A member fences itself alone, so that one that lies harms no other (S10).
Hubs are told apart by their identity. A hub that never took over has generation 0, and marks no member.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import total_ordering

from kubeapi import codec
from kubeapi.meta import format_micro_time
from leeward.api.meta import Condition

HUB_GENERATION_ANNOTATION, HUB_FENCE_ANNOTATION = "leeward.dev/hub-generation", "leeward.dev/hub-fence"
HUB_FENCE_CONDITION = "leeward.dev/HubFence"
"""Condition on a Cluster: False while its member obeys another hub, takes no mark, or refuses no older one."""
ANOTHER_HUB, NOT_FENCED, NOT_TOLD = "AnotherHub", "NotFenced", "NotTold"
MOST_HUBS = 64
LARGEST_GENERATION = 2**53
"""Bound on what is read: a larger number is not exact in every reader of JSON."""
MOST_AHEAD = 1_000_000
"""Generations by which a member may be ahead of a hub. One that says more is not believed: it would harm the others."""
_WRITTEN = re.compile(r"(\d{1,16})(?:/(?:(\d{1,9}):)?([\w.:-]{1,64}))?", re.ASCII)


class UnreadableGeneration(ValueError):
    """An annotation that holds no generation; the message names it, and the way out."""


@total_ordering
@dataclass(frozen=True, slots=True)
class Generation:
    """Generation of a hub. The later one in the order is the newer one; of the claims it is the smaller one."""

    number: int = 0
    claim: str = ""
    seen: int = 0

    def __lt__(self, other: "Generation") -> bool:
        return (self.number, self.seen, other.claim) < (other.number, other.seen, self.claim)

    def __str__(self) -> str:
        return f"{self.number}/{self.seen}:{self.claim}" if self.claim else str(self.number)

    @staticmethod
    def after(number: int, seen: int, now: datetime, ending: str) -> "Generation":
        """The generation of a take-over at this instant, which saw this many members, above this number."""
        return Generation(number + 1, f"{format_micro_time(now)}-{ending}", seen)


NEVER = Generation()
"""Generation of a hub that never took over."""


def _read(text: str | int) -> Generation | None:
    """None where the text is no generation."""
    found = _WRITTEN.fullmatch(str(text))
    if found is None or int(found[1]) > LARGEST_GENERATION:
        return None
    return Generation(int(found[1]), found[3] or "", int(found[2] or 0))


def generation_of(annotations: Mapping[str, str]) -> Generation:
    """Generation of the hub with these annotations of its Namespace `kube-system`. Raises: UnreadableGeneration."""
    generation = _read(annotations.get(HUB_GENERATION_ANNOTATION, 0))
    if generation is None:
        raise UnreadableGeneration(
            f"the annotation {HUB_GENERATION_ANNOTATION} of the hub's Namespace kube-system is no generation: "
            "`leeward take-over --force` writes it anew"
        )
    return generation


def fences_of(annotations: Mapping[str, str]) -> dict[str, Generation]:
    """Newest generations by hub that a member with these annotations has met. Raises: UnreadableGeneration."""
    text = annotations.get(HUB_FENCE_ANNOTATION, "")
    if not text:
        return {}
    try:
        said = codec.decode(text.encode(), dict[str, int | str])
    except codec.DecodeError:
        said = {"": ""}
    fences = {hub: generation for hub, each in said.items() if (generation := _read(each)) is not None}
    if len(fences) != len(said) or len(fences) > MOST_HUBS:
        raise UnreadableGeneration(
            f"the annotation {HUB_FENCE_ANNOTATION} of the cluster's Namespace kube-system cannot be read: nothing is "
            "done there; remove the annotation"
        )
    return fences


def render_fences(fences: Mapping[str, Generation]) -> str:
    """The annotation of a member, in which the same hubs are always the same text."""
    return codec.encode(
        {hub: str(each) if each.claim else each.number for hub, each in sorted(fences.items())}
    ).decode()


def problem_of_generation(own: Generation, met: Generation) -> str:
    """The reason why a hub does nothing in a member that has met this generation of it; empty where there is none."""
    if met <= own:
        return ""
    if met.number > own.number + MOST_AHEAD:
        return (
            f"the annotation {HUB_FENCE_ANNOTATION} of the cluster's Namespace kube-system says generation {met}, "
            f"which no take-over has written; this one is {own}. Nothing is done there: remove the annotation"
        )
    if met.number == own.number:
        return (
            f"another hub has taken over from the same copy, and saw more members, or was first: the cluster obeys "
            f"generation {met}, and this one is {own}; nothing is done there. Stop this one, or make it the hub with "
            "`leeward take-over --force`"
        )
    return (
        f"another hub has taken over: the cluster obeys generation {met} of this control plane, and this one is "
        f"generation {own}; nothing is done there. Stop this one, or make it the hub again with `leeward take-over`"
    )


def fence_condition(problem: str, untold: str, unfenced: str) -> Condition | None:
    """The condition of a Cluster whose member obeys another hub (`problem`), gets nothing as the mark fails (`untold`),
    or refuses no older hub (`unfenced`)."""
    if problem or untold:
        return Condition(HUB_FENCE_CONDITION, "False", ANOTHER_HUB if problem else NOT_TOLD, problem or untold)
    if not unfenced:
        return None
    said = f"an older hub that comes back is not refused there: {unfenced}. If there was another hub, stop it for good"
    return Condition(HUB_FENCE_CONDITION, "False", NOT_FENCED, said)


def hub_to_follow(generations: Sequence[Generation | None], current: int | None, newest: Generation) -> int | None:
    """Index of the address that an agent follows: the first one listed of the newest generation.

    None of `generations` is an address without an answer. `newest` is the newest one ever seen: no older one counts. A
    hub that is silent is left for a newer generation alone: a copy of its own generation has not taken over.
    """
    answered = {index: each for index, each in enumerate(generations) if each is not None and each >= newest}
    best = max(answered.values(), default=None)
    if best is None or (current is not None and best == newest and current not in answered):
        return current
    return next(index for index, each in answered.items() if each == best)
