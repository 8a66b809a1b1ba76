"""Expectations of a scenario, and if they came true: each claim is a function of what was recorded.

An application is whole while as many replicas serve as its template asks for; of a duplicated one that is one whole
copy, wherever it is. It has recovered when it is whole again, and has been within the time each time it was not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kubeapi.selectors import matches, parse_selector
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.subjects import binding_asked_of
from leeward.operations import OperationFailed
from leeward.operations.clusters import is_application
from leeward.operations.drain import workload_of
from leeward.operations.sentences import counted, places
from leeward.sim.rehearsal.fleet_recorder import FleetRecorder, Happening, held_reason
from leeward.sim.rehearsal.scenario_file import Expectation, Scenario, ScenarioProblem


class Shortfall(msgspec.Struct, frozen=True, rename="camel"):
    """Shortfall of what did not come true: of which application, when, and by how much."""

    application: str
    after_seconds: float | None
    message: str


class ExpectationResult(msgspec.Struct, frozen=True, rename="camel"):
    expectation: str
    of: str
    holds: bool
    shortfalls: list[Shortfall]


class Chosen(NamedTuple):
    """An expectation with the applications that it is about."""

    expectation: Expectation
    bindings: tuple[BindingName, ...]


def choose(state: FleetState, scenario: Scenario, copied: Mapping[BindingName, object]) -> list[Chosen]:
    """Raises: ScenarioProblem for what chooses nothing, or something that could not be copied."""
    chosen: list[Chosen] = []
    for index, expectation in enumerate(scenario.spec.expect):
        try:
            chosen.append(Chosen(expectation, _chosen(state, expectation, copied)))
        except (OperationFailed, ValueError) as error:
            raise ScenarioProblem(f"spec.expect[{index}]: {error}") from error
        unknown = [name for name in expectation.placed_on or () if name not in state.clusters]
        if unknown:
            known = ", ".join(sorted(state.clusters))
            raise ScenarioProblem(
                f"spec.expect[{index}].placedOn: there is no cluster {unknown[0]!r}; choose from {known}"
            )
    return chosen


def _chosen(
    state: FleetState, expectation: Expectation, copied: Mapping[BindingName, object]
) -> tuple[BindingName, ...]:
    """Raises: OperationFailed, ValueError."""
    if expectation.applications:
        namespace = expectation.namespace or "default"
        named = [binding_asked_of(state, text, namespace) for text in expectation.applications]
        for key in named:
            if key not in copied:
                raise OperationFailed(
                    f"{workload_of(state.bindings[key])} is not in the copy; see what is left out of it"
                )
        return tuple(named)
    selector = parse_selector(expectation.selector) if expectation.selector else None
    found = tuple(
        key
        for key, binding in state.bindings.items()
        if key in copied
        and is_application(binding)
        and (not expectation.namespace or key.namespace == expectation.namespace)
        and (selector is None or matches(selector, state.template_of(binding).labels))
    )
    if not found and expectation.brake is None:
        raise OperationFailed("no application is so: name some, or another namespace or selector")
    return found


def judge(chosen: Chosen, recorder: FleetRecorder) -> ExpectationResult:
    expectation, bindings = chosen
    shortfalls_of = next(claim for given, claim in _CLAIMS if given(expectation) is not None)
    shortfalls = list(shortfalls_of(expectation, bindings, recorder))
    of = ", ".join(expectation.applications) or counted(len(bindings), "application")
    named = "the fleet" if expectation.brake is not None else of
    return ExpectationResult(_sentence(expectation), named, not shortfalls, shortfalls)


_Claim = Callable[[Expectation, Sequence[BindingName], FleetRecorder], Iterator[Shortfall]]


def _recovered(asked: Expectation, bindings: Sequence[BindingName], seen: FleetRecorder) -> Iterator[Shortfall]:
    for key in bindings:
        for begun, ended, ready, wanted in seen.serving[key].spans_below():
            if ended is not None and ended - begun <= asked.within_seconds:
                continue
            lasted = (seen.seconds if ended is None else ended) - begun
            late = span_of(lasted - asked.within_seconds)
            if ended is not None:
                yield Shortfall(_name(seen, key), begun, f"whole again after {span_of(lasted)}, {late} too late")
            elif lasted > asked.within_seconds:
                said = f"not whole again after {span_of(lasted)}: {seen.serving[key].last[0]} of {wanted} serve"
                yield Shortfall(_name(seen, key), begun, f"{said}, {ready} at worst")
            else:
                said = f"not whole again when the rehearsal ends, {span_of(lasted)} later: make spec.duration longer"
                yield Shortfall(_name(seen, key), begun, said)


def _never_fewer(asked: Expectation, bindings: Sequence[BindingName], seen: FleetRecorder) -> Iterator[Shortfall]:
    least = asked.never_fewer_than or 0
    for key in bindings:
        fewest, seconds = seen.serving[key].fewest
        if fewest < least:
            yield Shortfall(_name(seen, key), seconds, f"{fewest} served, {least - fewest} fewer than {least}")


def _nothing_deleted(asked: Expectation, bindings: Sequence[BindingName], seen: FleetRecorder) -> Iterator[Shortfall]:
    """Finds deletions of the applications that are chosen; of everything, where none is."""
    is_narrow = asked.applications or asked.namespace or asked.selector
    for each in seen.happened:
        if each.what is Happening.DELETED and (not is_narrow or each.binding in bindings):
            name = _name(seen, each.binding) if each.binding is not None else ""
            yield Shortfall(name, each.seconds, each.sentence)


def _no_eviction(asked: Expectation, bindings: Sequence[BindingName], seen: FleetRecorder) -> Iterator[Shortfall]:
    for each in seen.happened:
        if each.evicts and each.binding in bindings:
            yield Shortfall(_name(seen, each.binding), each.seconds, each.sentence)


def _placed(asked: Expectation, bindings: Sequence[BindingName], seen: FleetRecorder) -> Iterator[Shortfall]:
    for key in bindings:
        there = {t.name: t.replicas for t in seen.bindings[key].spec.clusters} if key in seen.bindings else {}
        wanted = asked.placed_on
        is_so = there == dict(wanted) if isinstance(wanted, Mapping) else set(there) == set(wanted or ())
        if not is_so:
            yield Shortfall(_name(seen, key), None, f"it is in {places(there)} at the end")


def _held(asked: Expectation, bindings: Sequence[BindingName], seen: FleetRecorder) -> Iterator[Shortfall]:
    for key in bindings:
        held = held_reason(seen.bindings[key]) if key in seen.bindings else ""
        if held != asked.held:
            yield Shortfall(_name(seen, key), None, f"held ({held}) at the end" if held else "not held at the end")


def _brake(asked: Expectation, bindings: Sequence[BindingName], seen: FleetRecorder) -> Iterator[Shortfall]:
    if seen.was_engaged != (asked.brake == "engaged"):
        yield Shortfall("", None, "the brake engaged" if seen.was_engaged else "the brake never engaged")


_CLAIMS: Sequence[tuple[Callable[[Expectation], object], _Claim]] = (
    (lambda asked: asked.recovered_within, _recovered),
    (lambda asked: asked.never_fewer_than, _never_fewer),
    (lambda asked: asked.nothing_deleted, _nothing_deleted),
    (lambda asked: asked.no_eviction, _no_eviction),
    (lambda asked: asked.placed_on, _placed),
    (lambda asked: asked.held, _held),
    (lambda asked: asked.brake, _brake),
)


def _sentence(asked: Expectation) -> str:
    wanted = asked.placed_on
    said = places(wanted) if isinstance(wanted, Mapping) else " ".join(wanted or ())
    return {
        "recovered_within": f"recovered within {asked.recovered_within}",
        "never_fewer_than": f"never fewer than {asked.never_fewer_than} serve",
        "nothing_deleted": "nothing deleted",
        "no_eviction": "no eviction",
        "placed_on": f"placed on {said}",
        "held": f"held ({asked.held})",
        "brake": f"the brake is {asked.brake}" if asked.brake == "idle" else "the brake engages",
    }[asked.claim]


def _name(seen: FleetRecorder, key: BindingName | None) -> str:
    binding = seen.bindings.get(key) if key is not None else None
    return workload_of(binding) if binding is not None else str(key)


def span_of(seconds: float) -> str:
    """`10 min 39 s`, `39 s`, `1 h 2 min`"""
    whole = round(max(0.0, seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    parts = [(hours, "h"), (minutes, "min"), (left, "s")]
    said = [f"{number} {unit}" for number, unit in parts if number]
    return " ".join(said[:2]) or "0 s"
