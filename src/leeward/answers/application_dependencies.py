"""Dependencies of one application: what its template names, what takes each along, and where it would be missing."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from leeward.answers.fleet_state import BindingName, FleetState, NeededObject
from leeward.api.work import Binding


class Dependency(msgspec.Struct, frozen=True, rename="camel"):
    """`name` is `payments/ledger-db`. `taken`: something propagates it, to `clusters`; it is `missing` in those of the
    application's clusters that it does not go to. What another tool puts there is not seen.
    """

    kind: str
    name: str
    taken: bool
    clusters: list[str]
    missing: list[str]


def dependencies_of_application(state: FleetState, key: BindingName, others: Iterable[Binding]) -> list[Dependency]:
    """`others` are the bindings among which those are that take things along. What is missing comes first."""
    needed = next((e.objects for e in state.recorded.needs if (e.namespace, e.name) == (key.namespace, key.name)), ())
    carriers = {_identity(binding): binding for binding in others} if needed else {}
    there = [target.name for target in state.bindings[key].spec.clusters]
    found = (_dependency(each, carriers, there) for each in needed)
    return sorted(found, key=lambda each: (not each.missing, each.kind, each.name))


def _dependency(
    each: NeededObject, carriers: Mapping[tuple[str, str, str], Binding], there: Iterable[str]
) -> Dependency:
    carrier = carriers.get((each.kind, each.namespace, each.name))
    clusters = sorted(set(_reach(carrier))) if carrier is not None else []
    missing = sorted(name for name in there if name not in clusters)
    name = "/".join(filter(None, (each.namespace, each.name)))
    return Dependency(each.kind, name, carrier is not None, clusters, missing)


def _reach(carrier: Binding) -> Iterator[str]:
    """Clusters of its own placement, and those to which it follows what needs it."""
    yield from (target.name for target in carrier.spec.clusters)
    yield from (target.name for snapshot in carrier.spec.required_by for target in snapshot.clusters)


def _identity(binding: Binding) -> tuple[str, str, str]:
    resource = binding.spec.resource
    return resource.kind, resource.namespace, resource.name
