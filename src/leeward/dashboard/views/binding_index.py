"""Index of the bindings of a fleet, kept by difference: of a version only what is other than in the last is looked at.

Objects never change, so the same object is the same binding. What views need of all bindings is kept here: where they
are, what is on its way, what something is found about, by which policy they are claimed, and sums.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from leeward.answers.fleet_state import BindingName, key_of_binding, spec_there
from leeward.answers.running_outage import applications_in
from leeward.api.outage import ClusterOutage
from leeward.api.work import Binding, ResourceBindingSpec, is_application
from leeward.core.cluster_health.outage import clusters_of
from leeward.core.placement.concern import is_unplaced
from leeward.dashboard.views.policy_rows import claim_of
from leeward.operations.findings import hold_of
from leeward.operations.hindrances import hindrances_of, serves_nothing, stopped_rollout
from leeward.operations.outage_story import is_running


class IndexChange(NamedTuple):
    """Bindings that are new, or other than they were, and those that are gone, or were other."""

    new: Sequence[Binding]
    gone: Sequence[Binding]


class BindingIndex:
    """`shows` tells which namespaces are visible; findings and sums are about the bindings there."""

    def __init__(self, shows: Callable[[str], bool]) -> None:
        self._shows = shows
        self._known: dict[int, Binding] = {}
        self._by_name: dict[BindingName, Binding] = {}
        self._there: defaultdict[str, dict[int, Binding]] = defaultdict(dict)
        self._coming: dict[int, tuple[Binding, ResourceBindingSpec]] = {}
        self._found: set[int] = set()
        self.claims = Counter[str]()
        self.touched: set[str] = set()
        """Clusters whose bindings are others since the last version."""
        self.applications = self.replicas = 0

    def update(self, bindings: Iterable[Binding]) -> IndexChange:
        now = {id(binding): binding for binding in bindings}
        gone = [binding for key, binding in self._known.items() if key not in now]
        new = [binding for key, binding in now.items() if key not in self._known]
        self.touched = {name for binding in (*gone, *new) for name in clusters_of(binding.spec)}
        for binding in gone:
            self._take_out(binding)
        for binding in new:
            self._take_in(binding)
        self._known = now
        return IndexChange(new, gone)

    @property
    def coming(self) -> Iterable[tuple[Binding, ResourceBindingSpec]]:
        """Bindings with copies that are on their way, as `FleetState.coming` has them."""
        return self._coming.values()

    @property
    def clusters(self) -> Iterable[str]:
        """Clusters that bindings name."""
        return self._there.keys()

    def there(self, cluster: str) -> tuple[Binding, ...]:
        """Bindings that are assigned to the cluster, or on their way out of it."""
        return tuple(self._there.get(cluster, {}).values())

    def found(self, clusters: Iterable[str]) -> tuple[Binding, ...]:
        """Visible bindings that something may be found about: what they say of themselves, or what is in `clusters`."""
        keys = self._found.union(*(self._there.get(name, ()) for name in clusters))
        return tuple(self._known[key] for key in self._in_order(keys) if self._shows(self._known[key].namespace))

    def of_outages(self, outages: Iterable[ClusterOutage]) -> list[Binding]:
        """Bindings that running outages concern."""
        keys = set[int]()
        for outage in filter(is_running, outages):
            named = (self._by_name.get(name) for name in applications_in(outage))
            keys.update(id(binding) for binding in named if binding is not None)
            keys.update(self._there.get(outage.spec.cluster, ()))
        return [self._known[key] for key in self._in_order(keys)]

    def _in_order(self, keys: set[int]) -> Iterable[int]:
        """Keys in the order of the bindings."""
        assert keys <= self._known.keys(), "an object that is gone may have left its id to another one"
        return (key for key in self._known if key in keys) if keys else ()

    def _take_in(self, binding: Binding) -> None:
        key, there = id(binding), spec_there(binding, {})
        self._by_name[key_of_binding(binding)] = binding
        for name in clusters_of(binding.spec):
            self._there[name][key] = binding
        if there is not None:
            self._coming[key] = (binding, there)
        if is_found_something_about(binding):
            self._found.add(key)
        self._count(binding, 1)

    def _take_out(self, binding: Binding) -> None:
        key, name = id(binding), key_of_binding(binding)
        if self._by_name.get(name) is binding:
            del self._by_name[name]
        for cluster in dict.fromkeys(clusters_of(binding.spec)):
            del self._there[cluster][key]
            if not self._there[cluster]:
                del self._there[cluster]
        self._coming.pop(key, None)
        self._found.discard(key)
        self._count(binding, -1)

    def _count(self, binding: Binding, number: int) -> None:
        claim = claim_of(binding)
        self.claims[claim] += number
        if not self.claims[claim]:
            del self.claims[claim]
        if self._shows(binding.namespace):
            self.applications += number * is_application(binding)
            self.replicas += number * sum(target.replicas for target in binding.spec.clusters)


def is_found_something_about(binding: Binding) -> bool:
    """Tells whether `operations.binding_findings` may tell something of it."""
    is_of_no_use = any(hindrances_of(binding)) or bool(stopped_rollout(binding)) or serves_nothing(binding)
    is_held = is_unplaced(binding) or hold_of(binding) is not None
    return is_held or is_of_no_use or bool(binding.spec.graceful_eviction_tasks)
