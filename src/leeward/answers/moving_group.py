"""The group with which a binding of a picture moves: its members, and the sentence about it."""

from collections.abc import Iterator, Mapping

from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.work import Binding, Work
from leeward.core.moving_together import MOST_MEMBERS
from leeward.planning.moving_groups import MovingGroups


def member_of(
    state: FleetState, bindings: Mapping[BindingName, Binding], namespace: str, name: str
) -> tuple[Binding, Mapping[str, Work]] | None:
    """A binding that is to be placed, of these, with its Works in the picture."""
    key = BindingName(namespace, name)
    binding = bindings.get(key)
    is_placed = binding is not None and binding.metadata.deletion_timestamp is None and binding.spec.placement
    return (binding, state.works_of(key)) if binding is not None and is_placed else None


def group_sentence(state: FleetState, binding: Binding) -> Iterator[str]:
    """Sentence on the group with which a binding moves; nothing where it moves alone."""
    groups = MovingGroups(state.bindings.values(), affinity=state.settings.workload_affinity)
    if not (name := groups.group_of(binding)):
        return
    if groups.size_of(binding) > MOST_MEMBERS:
        yield f"Group {name} has no effect: it has more than {MOST_MEMBERS} members."
        return
    beside = [state.bindings[BindingName(binding.namespace, each)] for each in groups.beside(binding)]
    places = (", ".join(target.name for target in each.spec.clusters) or "no cluster" for each in beside)
    told = [
        f"{each.spec.resource.kind} {each.spec.resource.name} ({where})"
        for each, where in zip(beside, places, strict=True)
    ]
    together = f"The application moves together with {', '.join(told)} (group {name})."
    yield together if told else f"Group {name} has no other member."
