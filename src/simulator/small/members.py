"""Events of one copy in its member, at any time: it follows its Work, its Pods start, both are reported."""

from collections.abc import Iterator

from simulator.small.model import BindingState, ClusterState, Copy, Problem, WorkObject, with_copy, with_work
from simulator.small.worlds import NAMES


def copy_moves(
    binding: BindingState, index: int, cluster: ClusterState
) -> Iterator[tuple[str, BindingState, tuple[Problem, ...]]]:
    """Moves of one copy: the member gets what its Work says, Pods become ready, and that is reported."""
    work, copy = binding.works[index], binding.copies[index]
    if copy is not None and copy.ready < copy.replicas:
        yield "ready", with_copy(binding, index, copy._replace(ready=copy.replicas)), ()
    if work is None or cluster.sight != "healthy":
        return
    is_due = work.deleting or not work.applied or copy is None or not copy.current
    if cluster.object.ready and is_due:
        yield "remove" if work.deleting else "apply", _applied(binding, index, work), _check_purge(binding, index, work)
    if copy is not None and not work.deleting:
        reported = work._replace(
            reflected=copy.current,
            ready=copy.ready,
            healthy=copy.ready == copy.replicas,
            since_ready=cluster.object.ready,
        )
        if reported != work:
            yield "report", with_work(binding, index, reported), ()


def _applied(binding: BindingState, index: int, work: WorkObject) -> BindingState:
    copy = binding.copies[index]
    if work.deleting:
        return with_copy(with_work(binding, index, None), index, None)
    ready = 0 if copy is None or copy.outdated else min(copy.ready, work.replicas)
    return with_copy(with_work(binding, index, work._replace(applied=True)), index, Copy(work.replicas, ready))


def _check_purge(binding: BindingState, index: int, work: WorkObject) -> tuple[Problem, ...]:
    """S7: with `Directly` nothing grows before the old copy is gone."""
    copy = binding.copies[index]
    grows = not work.deleting and work.replicas > (0 if copy is None else copy.replicas)
    purged = [task.cluster for task in binding.plan.tasks if task.mode == "Directly" and task.cluster != index]
    old = [cluster for cluster in purged if binding.copies[cluster] is not None]
    if grows and old:
        return (Problem("S7", f"a copy grows in {NAMES[index]} while the one in {NAMES[old[0]]} is still there"),)
    return ()
