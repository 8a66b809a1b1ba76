"""The Works of one binding, and what it means for a copy that its Work asks for something else."""

from collections.abc import Mapping

from simulator.small.model import BindingState, Copy, WorkObject


def with_new_template(binding: BindingState) -> BindingState:
    """The binding of a template that was changed."""
    works = tuple(work and work._replace(outdated=True) for work in binding.works)
    return binding._replace(plan=binding.plan._replace(rendered=False), works=works)


def superseded(copy: Copy, work: WorkObject | None, ordered: WorkObject | None) -> Copy:
    """A copy whose Work asks for something else now; one that is to go is nothing but that."""
    if ordered is None or ordered.deleting:
        return Copy(0, 0, current=False)
    return copy._replace(current=False, outdated=copy.outdated or (work is not None and work.outdated))


def renders(binding: BindingState, needed: Mapping[int, int]) -> bool:
    """Tells whether all Works were brought up to date; one that is being deleted is made anew later."""
    works = ((binding.works[cluster], replicas) for cluster, replicas in needed.items())
    return all(w is not None and (w.deleting or (w.replicas == n and not w.outdated)) for w, n in works)


def ordered_work(work: WorkObject | None, replicas: int | None, purging: bool) -> WorkObject | None:
    """A Work as it is to be. While a copy is purged Directly none is made, and none grows (Holds: S7)."""
    if work is None:
        return None if replicas is None or purging else WorkObject(replicas)
    if work.deleting or (work.replicas == replicas and not work.outdated):
        return work
    if replicas is None:
        return WorkObject(work.replicas, deleting=True)
    if purging and replicas > work.replicas:
        return work
    return work._replace(replicas=replicas, outdated=False, applied=False, reflected=False)
