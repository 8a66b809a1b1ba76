"""Stages of a rollout: which of the application's clusters belong to which."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from kubeapi.selectors import matches, selector_of
from leeward.api.rollout import REST, RolloutStage, RolloutStrategy


class StagedCluster(Protocol):
    @property
    def revision(self) -> str | None: ...
    @property
    def labels(self) -> Mapping[str, str]: ...


def clusters_by_stage(
    strategy: RolloutStrategy, clusters: Mapping[str, StagedCluster], target: str
) -> Iterator[tuple[RolloutStage, Sequence[str]]]:
    """Each stage with its clusters, by name; of a share those first that have the target. A cluster belongs to the
    first stage that takes it, and to the last where none does. A stage may have none."""
    left = sorted(clusters, key=lambda name: (clusters[name].revision != target, name))
    for stage in strategy.stages:
        taken = frozenset(_taken(stage, clusters, left))
        left = [name for name in left if name not in taken]
        yield stage, sorted(taken)
    yield RolloutStage(_last_name(strategy)), sorted(left)


def furthest(strategy: RolloutStrategy, reached: str, present: str) -> str:
    """The later one of two stages. One that the strategy no longer has is the earlier."""
    order = [*(stage.name for stage in strategy.stages), _last_name(strategy)]
    return reached if reached in order[order.index(present) :] else present


def _last_name(strategy: RolloutStrategy) -> str:
    """Name of the stage of clusters that no stage takes; no other stage has it."""
    taken = frozenset(stage.name for stage in strategy.stages)
    return next(name for name in (REST, *(f"{REST}-{n}" for n in range(2, len(taken) + 3))) if name not in taken)


def _taken(stage: RolloutStage, clusters: Mapping[str, StagedCluster], left: Sequence[str]) -> Collection[str]:
    if stage.clusters is not None:
        return [name for name in left if name in stage.clusters]
    if stage.selector is not None:
        selector = selector_of(stage.selector)
        return [name for name in left if matches(selector, clusters[name].labels)]
    if stage.share is not None:
        return left[: -(-len(clusters) * stage.share // 100)]
    return left
