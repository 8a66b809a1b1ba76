"""Trace of a decision: why a binding went where it went, as the functions that decide tell it when they are asked.

One `TermTrace` for each affinity term that was tried. It has the refusal of each cluster, the candidates, the chosen
groups and clusters, and the division of the replicas. It changes nothing of the result.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class _Ranked(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def tier(self) -> int: ...
    @property
    def score(self) -> int: ...
    @property
    def room(self) -> int: ...
    @property
    def assigned(self) -> int: ...


@dataclass(frozen=True, slots=True)
class CandidateTrace:
    """A cluster that passed the filters, see `model.Candidate`."""

    tier: int
    score: int
    room: int
    assigned: int


@dataclass(frozen=True, slots=True)
class DivisionTrace:
    """One division: `replicas` more on top of `initial`, by `weights`."""

    replicas: int
    weights: Mapping[str, int]
    initial: Mapping[str, int]
    result: Mapping[str, int]


@dataclass(slots=True)
class TermTrace:
    """`rejected` maps clusters to `plug-in: reason`; `groups` the groupings to the chosen groups and their weights."""

    affinity_name: str = ""
    rejected: dict[str, str] = field(default_factory=dict[str, str])
    candidates: dict[str, CandidateTrace] = field(default_factory=dict[str, CandidateTrace])
    groups: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    selected: tuple[str, ...] = ()
    divisions: list[DivisionTrace] = field(default_factory=list[DivisionTrace])
    claims: dict[str, int] = field(default_factory=dict[str, int])
    """Ranks of the clusters that hold claims of the template, see `claim_locality`."""

    def note_rejections(self, rejected: Mapping[str, object]) -> None:
        self.rejected.update((name, str(rejection)) for name, rejection in rejected.items())

    def note_candidates(self, candidates: Iterable[_Ranked]) -> None:
        for each in candidates:
            self.candidates[each.name] = CandidateTrace(each.tier, each.score, each.room, each.assigned)


@dataclass(slots=True)
class Trace:
    """All terms in the order in which they were tried; the last one gave the result, if there is any."""

    terms: list[TermTrace] = field(default_factory=list[TermTrace])

    def of_term(self, affinity_name: str) -> TermTrace:
        self.terms.append(TermTrace(affinity_name))
        return self.terms[-1]
