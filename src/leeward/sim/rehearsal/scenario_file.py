"""A scenario of `leeward rehearse`: a file of kind Rehearsal with steps at instants, and what is expected.

    apiVersion: leeward.dev/v1alpha1
    kind: Rehearsal
    metadata: {name: a-cluster-dies}
    spec:
      duration: 20m
      steps:
      - {at: 0s, fail: [member1]}
      expect:
      - {recoveredWithin: 12m, applications: [deploy/web]}

Each step has one action (`ACTIONS`), each expectation one claim (`CLAIMS`). Nothing that is not known is accepted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, field

from kubeapi.choices import choices_of, fields_of, path_of
from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import Manifest, Object, ObjectMeta
from kubeapi.unstructured import text_at
from kubeapi.yaml_lines import LocatedDocument, parse_located_yaml
from kubeserver.serialization.durations import parse_duration

API_VERSION, KIND = "leeward.dev/v1alpha1", "Rehearsal"
MOST_STEPS = 200
LONGEST_SECONDS = 24 * 3600.0
_PATH = re.compile(r" - at `\$([^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")

Clusters = tuple[str, ...]
Fault = tuple[Sequence[str | int], str]
"""The path of a field, and what is wrong with it."""


class ScenarioProblem(ValueError):
    """Problem of a scenario, with the line and the way out, for people."""


class _Strict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    pass


class SlowClusters(_Strict, frozen=True):
    """Clusters of which each answer comes `by` later."""

    clusters: Clusters
    by: str


class NodesDown(_Strict, frozen=True):
    """Number of `nodes` of each of the clusters that take no Pods any more, and those that ran there are gone."""

    clusters: Clusters
    nodes: Annotated[int, Meta(ge=1)]


class ScaledApplication(_Strict, frozen=True):
    application: str
    replicas: Annotated[int, Meta(ge=0, le=100_000)]
    namespace: str = "default"


class ScenarioStep(_Strict, frozen=True):
    """`clusters` are names, or `region=eu`, `zone=`, `provider=`, `label:KEY=VALUE`."""

    at: str = "0s"
    fail: Clusters | None = None
    return_: Clusters | None = field(default=None, name="return")
    partition: Clusters | None = None
    unready: Clusters | None = None
    refuse_writes: Clusters | None = None
    slow: SlowClusters | None = None
    nodes_down: NodesDown | None = None
    scale: ScaledApplication | None = None
    drain: Clusters | None = None
    cordon: Clusters | None = None
    uncordon: Clusters | None = None
    apply: tuple[Manifest, ...] | None = None

    @property
    def at_seconds(self) -> float:
        return parse_duration(self.at)

    @property
    def action(self) -> str:
        """The field's name."""
        return next(name for name in ACTIONS if getattr(self, name) is not None)

    @property
    def clusters(self) -> Clusters:
        """Clusters as they are written; none of what people change."""
        given = (self.fail, self.return_, self.partition, self.unready, self.refuse_writes)
        of_people = (self.drain, self.cordon, self.uncordon)
        inside = tuple(each.clusters for each in (self.slow, self.nodes_down) if each is not None)
        return next((clusters for clusters in (*given, *of_people, *inside) if clusters is not None), ())


ACTIONS = tuple(name for name in ScenarioStep.__struct_fields__ if name != "at")


class Expectation(_Strict, frozen=True):
    """One claim about the applications that are chosen; about all that run something, where none is.

    `applications` are TYPE/NAME in `namespace`; `selector` is of labels (`tier=web,track=stable`).
    """

    recovered_within: str | None = None
    never_fewer_than: Annotated[int, Meta(ge=1)] | None = None
    nothing_deleted: Literal[True] | None = None
    no_eviction: Literal[True] | None = None
    placed_on: Mapping[str, int] | Clusters | None = None
    held: str | None = None
    brake: Literal["engaged", "idle"] | None = None
    applications: tuple[str, ...] = ()
    namespace: str = ""
    selector: str = ""

    @property
    def claim(self) -> str:
        """The field's name."""
        return next(name for name in CLAIMS if getattr(self, name) is not None)

    @property
    def within_seconds(self) -> float:
        return parse_duration(self.recovered_within or "0s")


CLAIMS = tuple(n for n in Expectation.__struct_fields__ if n not in ("applications", "namespace", "selector"))


class ScenarioSpec(_Strict, frozen=True):
    steps: Annotated[tuple[ScenarioStep, ...], Meta(min_length=1, max_length=MOST_STEPS)]
    duration: str = "30m"
    expect: Annotated[tuple[Expectation, ...], Meta(max_length=MOST_STEPS)] = ()

    @property
    def seconds(self) -> float:
        return parse_duration(self.duration)


class Scenario(Object, frozen=True):
    """`metadata` is as of any object; its name is printed."""

    api_version: Literal["leeward.dev/v1alpha1"]
    kind: Literal["Rehearsal"]
    spec: ScenarioSpec
    metadata: ObjectMeta = ObjectMeta()


def parse_scenario(text: bytes) -> Scenario:
    """Raises: ScenarioProblem."""
    try:
        documents = list(parse_located_yaml(text))
    except ValueError as error:
        raise ScenarioProblem(str(error)) from error
    if len(documents) != 1:
        raise ScenarioProblem(f"it has {len(documents)} documents: write one {KIND}")
    [document] = documents
    try:
        _check_top(document.value)
        scenario = from_wire(document.value, Scenario)
    except DecodeError as error:
        raise _problem_of(document, error) from error
    for path, fault in _faults(scenario.spec):
        raise _at(document, path, fault)
    return scenario


def _check_top(document: Any) -> None:
    """Raises: DecodeError for a field beside those that every object has."""
    known = ("apiVersion", "kind", "metadata", "spec")
    given = cast(Mapping[str, Any], document if isinstance(document, dict) else {})
    unknown = next((key for key in given if key not in known), None)
    if unknown is not None:
        raise msgspec.ValidationError(f"Object contains unknown field `{unknown}`")


def _problem_of(document: LocatedDocument, error: Exception) -> ScenarioProblem:
    said = str(error)
    found = _PATH.search(said)
    path = path_of(found[1]) if found else []
    fault = said[: found.start()] if found else said
    choices = choices_of(Scenario, path)
    unknown = _UNKNOWN.search(fault)
    if unknown is not None:
        choices = fields_of(Scenario, path)
        path.append(unknown[1])
        fault = f"there is no field {unknown[1]!r}"
    return _at(document, path, f"{fault}; choose from {', '.join(choices)}" if choices else fault)


def _at(document: LocatedDocument, path: Sequence[str | int], fault: str) -> ScenarioProblem:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return ScenarioProblem(f"line {document.line_of(path)}: {where}: {fault}" if where else f"line 1: {fault}")


def _faults(spec: ScenarioSpec) -> Iterator[Fault]:
    """Faults of what decodes all the same, each with its path."""
    if fault := _duration_fault(spec.duration):
        yield ("spec", "duration"), fault
        return
    for index, step in enumerate(spec.steps):
        yield from _faults_of_step(("spec", "steps", index), step, spec)
    for index, expectation in enumerate(spec.expect):
        place = ("spec", "expect", index)
        yield from _one_of(place, "claim", expectation, CLAIMS)
        if expectation.recovered_within is not None and (fault := _duration_fault(expectation.recovered_within)):
            yield (*place, "recoveredWithin"), fault
        if expectation.brake is not None and _chooses(expectation):
            yield place, "the brake is of the whole fleet: leave out applications, namespace and selector"


def _faults_of_step(place: Sequence[str | int], step: ScenarioStep, spec: ScenarioSpec) -> Iterator[Fault]:
    if fault := _duration_fault(step.at, zero=True):
        yield (*place, "at"), fault
    elif step.at_seconds > spec.seconds:
        yield (*place, "at"), f"{step.at} is after the end: make spec.duration ({spec.duration}) longer"
    yield from _one_of(place, "action", step, ACTIONS)
    for number, manifest in enumerate(step.apply or ()):
        if not (text_at(manifest, "kind") and text_at(manifest, "metadata", "name")):
            yield (*place, "apply", number), "it has no kind, or no metadata.name"
    if step.slow is not None and (fault := _duration_fault(step.slow.by)):
        yield (*place, "slow", "by"), fault
    for name in ACTIONS:
        value = getattr(step, name)
        if value == () or getattr(value, "clusters", None) == ():
            yield place, f"{_wire(step, name)} is empty: give a list, such as [member1, region=eu]"


def _chooses(expectation: Expectation) -> bool:
    return bool(expectation.applications or expectation.namespace or expectation.selector)


def _one_of(place: Sequence[str | int], what: str, struct: msgspec.Struct, names: Sequence[str]) -> Iterator[Fault]:
    given = [name for name in names if getattr(struct, name) is not None]
    if len(given) != 1:
        choices = ", ".join(_wire(struct, name) for name in names)
        said = " and ".join(_wire(struct, name) for name in given)
        yield place, f"{f'it has {said}' if given else f'it has no {what}'}: give one of {choices}"


def _wire(struct: msgspec.Struct, name: str) -> str:
    return struct.__struct_encode_fields__[struct.__struct_fields__.index(name)]


def _duration_fault(text: str, *, zero: bool = False) -> str:
    try:
        seconds = parse_duration(text.removeprefix("+"))
    except ValueError:
        return f"{text!r} is no duration: write 90s, 12m or 1h30m"
    if seconds < 0 or (not zero and seconds == 0):
        return f"{text!r} is no time to come: write 90s, 12m or 1h30m"
    return "" if seconds <= LONGEST_SECONDS else f"{text!r} is longer than {LONGEST_SECONDS / 3600:g} h"
