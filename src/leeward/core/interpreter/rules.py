"""`Rules`: what may be said of one kind, as functions on manifests."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import AggregatedStatusItem, Component, ReplicaRequirements

Status = dict[str, Any]


class InterpretationError(ValueError):
    """Says why a rule can make nothing of an object: what is read of it is then unknown, not zero and not healthy."""


@dataclass(frozen=True, slots=True)
class Rules:
    """A rule that is None says nothing about the kind. `revise`, `retain` and `prune` change their first argument.

    `reflect` gets an object that has a status. `aggregate` gets the template and the items, and returns the new status
    or None to leave the old one.
    """

    replicas: Callable[[ReadOnlyManifest], tuple[int, ReplicaRequirements | None]] | None = None
    components: Callable[[ReadOnlyManifest], tuple[Component, ...]] | None = None
    revise: Callable[[Manifest, int], None] | None = None
    reflect: Callable[[ReadOnlyManifest], Status | None] | None = None
    is_healthy: Callable[[ReadOnlyManifest], bool] | None = None
    aggregate: Callable[[ReadOnlyManifest, Sequence[AggregatedStatusItem]], Status | None] | None = None
    retain: Callable[[Manifest, ReadOnlyManifest], None] | None = None
    prune: Callable[[Manifest], None] | None = None
    dependencies: Callable[[ReadOnlyManifest], Collection[DependentObjectReference]] | None = None
