"""Steered histories: short ones that are led to a rare situation, whatever else is drawn.

Chance alone reaches some situations once in hundreds of histories, and a campaign of other seeds not at all. One
history of two is steered, to each situation in turn, so that a campaign of 150 has each of them twice at least,
wherever it begins. In every other round something is drawn into it as well. One history in ten, of those that chance
would draw, is led to what works beside the control plane (`SURROUNDED`).
"""

import random
from collections.abc import Callable, Sequence

from simulator.histories.model import AnyStep, History
from simulator.histories.steered.casting import Casting
from simulator.histories.steered.evictions import (
    by_policy,
    cut_off_while_stuck,
    in_part,
    in_vain,
    interrupted,
    left,
    stuck,
    two_dead,
    wishes,
    withdrawn,
)
from simulator.histories.steered.hub import away, braked, cut_off, forgetful, killed_at_work, leader, stormy
from simulator.histories.steered.members import contents, flapping, liar, refusing
from simulator.histories.steered.people import (
    drained,
    failing,
    nowhere,
    other_term,
    returning,
    shared,
    shared_with_room,
    suspended,
    taken_up_again,
)
from simulator.histories.steered.policies import governed, rolled_out
from simulator.histories.steered.propagation import dependent, overridden, scripted
from simulator.histories.steered.restored_hub import forgotten, in_the_middle, overtaken, second_life
from simulator.histories.steered.surroundings import (
    kept_in_git,
    one_of_two,
    operated,
    preserved,
    resized,
    taken_names,
    tasks,
    two_of_two,
)

__all__ = ["EVERY", "STEERED", "SURROUNDED", "steer"]

EVERY = 2
"""One history of so many is steered."""
STEERED: Sequence[Callable[[Casting], Sequence[AnyStep]]] = (
    cut_off,
    braked,
    stuck,
    cut_off_while_stuck,
    shared,
    shared_with_room,
    away,
    refusing,
    drained,
    failing,
    returning,
    other_term,
    by_policy,
    suspended,
    in_vain,
    in_part,
    leader,
    forgetful,
    killed_at_work,
    flapping,
    liar,
    wishes,
    interrupted,
    left,
    contents,
    stormy,
    two_dead,
    nowhere,
    withdrawn,
    forgotten,
    in_the_middle,
    overtaken,
    taken_up_again,
    overridden,
    dependent,
    scripted,
    governed,
)
SURROUNDED_EVERY, SURROUNDED_AT = 10, 4
SURROUNDED: Sequence[Callable[[Casting], Sequence[AnyStep]]] = (
    kept_in_git,
    one_of_two,
    two_of_two,
    tasks,
    resized,
    preserved,
    operated,
    second_life,
    taken_names,
    rolled_out,
)
"""Stories of the seeds that end with `SURROUNDED_AT`."""


def steer(seed: int, disturb: Callable[[History], History]) -> History | None:
    """The history of a seed; None where it is left to chance. In every other round it is `disturb`ed."""
    if seed % SURROUNDED_EVERY == SURROUNDED_AT:
        number, stories = seed // SURROUNDED_EVERY, SURROUNDED
    elif seed % EVERY:
        number, stories = seed // EVERY, STEERED
    else:
        return None
    turn, index = divmod(number, len(stories))
    cast = Casting(random.Random(f"steered {seed}"), turn)
    steps = stories[index](cast)
    history = History(
        seed=seed,
        members=tuple(cast.fleet().items()),
        steps=tuple(sorted(steps, key=lambda step: step.at)),
        revisions=cast.revisions,
        sync_seconds=cast.sync_seconds,
    )
    return disturb(history) if turn % 2 else history
