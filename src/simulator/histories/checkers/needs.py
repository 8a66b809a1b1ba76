"""Needs of a binding: the clusters that it needs a Work in, with how many replicas, and since when it has needed each
without a break.

Needed are the targets, the clusters of the bindings that depend on it, and those that are being left but not
`Directly`.
"""

from controller_runtime import Key
from kubeapi.meta import Manifest, annotations_of
from leeward.api.names import TEMPLATE_UID_ANNOTATION
from leeward.api.work import Binding, GracefulEvictionTask
from simulator.histories.checkers.scene import replicas_of
from simulator.histories.ground_truth import BINDINGS, Change


def needed_by(binding: Binding) -> dict[str, int]:
    """Replicas by cluster; where a part of a copy is leaving, what stays and what leaves."""
    spec = binding.spec
    targets = replicas_of(binding)
    needed = dict(targets)
    for snapshot in spec.required_by:
        for target in snapshot.clusters:
            needed.setdefault(target.name, target.replicas)
    for task in spec.graceful_eviction_tasks:
        name = task.from_cluster
        if task.purge_mode == "Directly":
            continue
        if name not in targets:
            needed.setdefault(name, _leaving(binding, task))
        elif spec.is_divided:
            needed[name] = targets[name] + (task.replicas or 0)
    return needed


def _leaving(binding: Binding, task: GracefulEvictionTask) -> int:
    """A task that names no number is of all replicas, where they are not shared out."""
    if task.replicas is not None:
        return task.replicas
    placement = binding.spec.placement
    strategy = placement.replica_scheduling if placement is not None else None
    divided = strategy is not None and strategy.replica_scheduling_type == "Divided"
    return 0 if divided else binding.spec.replicas


def is_of_an_earlier_template(manifest: Manifest, binding: Binding) -> bool:
    """Tells whether an object was made of a template that a user has deleted, and made again under its name."""
    uid = annotations_of(manifest).get(TEMPLATE_UID_ANNOTATION)
    return bool(uid and binding.spec.resource.uid) and uid != binding.spec.resource.uid


class Needs:
    """`note` is to be called with every change, before anything is asked."""

    def __init__(self) -> None:
        self._since: dict[Key, dict[str, float]] = {}
        self._uids: dict[Key, str] = {}

    def note(self, change: Change) -> None:
        if change.kind not in BINDINGS:
            return
        binding: Binding | None = change.new
        if binding is None or binding.metadata.deletion_timestamp is not None:
            self._since.pop(change.key, None)
            return
        if self._uids.get(change.key) != binding.metadata.uid:
            self._since.pop(change.key, None)
            self._uids[change.key] = binding.metadata.uid
        before, needed = self._since.get(change.key, {}), needed_by(binding)
        self._since[change.key] = {name: before.get(name, change.seconds) for name in needed}

    def since(self, binding: Key, cluster: str) -> float | None:
        """None where nothing of the binding is needed there, or the binding is on its way out."""
        return self._since.get(binding, {}).get(cluster)
