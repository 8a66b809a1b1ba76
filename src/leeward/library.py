"""Leeward as a library: questions about a fleet, asked from Python.

    from leeward import Fleet

    fleet = Fleet.load("fleet.yaml")                    # a file of `leeward snapshot`
    assert not fleet.what_if(fail=["region=eu"]).wanting
    assert fleet.resilience().survives_all
    print(fleet.explain("deploy/web").headline)

The answers are those of the verbs with `-o json`, as frozen structs; `msgspec.to_builtins` makes dictionaries of them.
Nothing here changes a control plane.
"""

import asyncio
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from kubeapi.codec import DecodeError, parse_yaml
from kubeapi.loop import SystemClock
from kubeapi.meta import Manifest
from kubeclient import Client, WorldError
from kubeclient.connection import transport_of
from kubeclient.kubeconfig import KubeconfigError, current_context, default_paths, load
from leeward.answers.fleet_state import FleetState, decode_state, encode_state
from leeward.answers.imagined import ImaginedChange, imagine_policies, imagine_scale, select_clusters
from leeward.answers.reading import read_fleet
from leeward.answers.resilience import CLUSTER, Resilience, losses_by, survey
from leeward.answers.subjects import Answer, asked_of, binding_asked_of, explain_in
from leeward.answers.what_if import WhatIf, what_if
from leeward.operations import OperationFailed
from leeward.sim.rehearsal.rehearsal import RehearsalFailed, RehearsalReport, rehearse
from leeward.sim.rehearsal.scenario_file import Scenario, ScenarioProblem, parse_scenario

Manifests = Iterable[str | os.PathLike[str] | Manifest]
"""Files of YAML documents, or manifests as dictionaries."""
LONGEST_SECONDS = 100 * 365 * 86_400.0


class QuestionError(ValueError):
    """Question that cannot be answered; the message names the argument or the file, and the way out."""


class Fleet:
    """Picture of a fleet at one instant: its clusters, policies, bindings and Works.

    A picture does not change. Take another with `read` after the control plane has changed.
    """

    def __init__(self, state: FleetState) -> None:
        self._state = state

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Reads a file of `leeward snapshot`. Raises: QuestionError, OSError."""
        try:
            return cls(decode_state(Path(file).read_bytes()))
        except DecodeError as error:
            raise QuestionError(f"{file} cannot be read: {error}; make one with `leeward snapshot FILE`") from error

    @classmethod
    def read(cls, kubeconfig: str | os.PathLike[str] | None = None, context: str = "") -> Self:
        """Reads a control plane, with GETs only. Without `kubeconfig`, $KUBECONFIG or ~/.kube/config says which.

        Call it outside of an event loop. Raises: QuestionError.
        """
        source = default_paths(os.environ) if kubeconfig is None else Path(kubeconfig)
        try:
            client = Client(transport_of(load(source, context)))
            return cls(asyncio.run(_read(client, context or current_context(source))))
        except (KubeconfigError, OperationFailed, WorldError, ValueError) as error:
            raise QuestionError(str(error)) from error

    @property
    def state(self) -> FleetState:
        """The picture as all of Leeward's answers read it. Its fields may change between releases."""
        return self._state

    @property
    def clusters(self) -> tuple[str, ...]:
        """Names of the clusters that have joined, sorted."""
        return tuple(sorted(self._state.clusters))

    @property
    def unseen(self) -> tuple[str, ...]:
        """Parts that could not be read. Answers about them are not certain."""
        return self._state.recorded.unseen

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the file that `load` reads. Raises: OSError."""
        Path(file).write_bytes(encode_state(self._state))

    def what_if(
        self,
        *,
        fail: Iterable[str] = (),
        drain: Iterable[str] = (),
        at: float = 0,
        recover_after: float | None = None,
        apply: Manifests = (),
        scale: Mapping[str, int] | None = None,
        namespace: str = "default",
        partial: bool = False,
    ) -> WhatIf:
        """Says where each application would serve, as `leeward what-if`.

        `fail` and `drain` are names of clusters, or `region=eu`, `zone=`, `provider=`, `label:KEY=VALUE`. `at` is in
        seconds from the picture, `recover_after` in seconds from the failure. `apply` are policies. `scale` is
        replicas by TYPE/NAME in `namespace`. `partial` as of `resilience`. Raises: QuestionError.
        """
        state = self._seen(partial)
        _require_seconds("at", at)
        if recover_after is not None:
            _require_seconds("recover_after", recover_after)
        try:
            failing = select_clusters(state, _texts(fail), "fail")
            drained = select_clusters(state, _texts(drain), "drain")
            found = list(_manifests(apply))
            bindings = dict(imagine_policies(state, found)) if found else {}
            for resource, replicas in (scale or {}).items():
                if type(replicas) is not int or not 0 <= replicas < 2**31:
                    raise QuestionError(f"scale: {resource}: {replicas!r} is no number of replicas; give 0 or more")
                bindings |= imagine_scale(state, binding_asked_of(state, resource, namespace), replicas)
        except OperationFailed as error:
            raise QuestionError(str(error)) from error
        if not (failing or drained or bindings or found):
            raise QuestionError("nothing is asked: give fail, drain, apply or scale")
        if recover_after is not None and not failing:
            raise QuestionError("recover_after: nothing fails; give fail")
        return what_if(state, ImaginedChange(failing, drained, at, recover_after, bindings))

    def resilience(self, *, by: str = CLUSTER, n: int = 1, partial: bool = False) -> Resilience:
        """Says for each loss of `n` clusters (or regions, zones, providers, `label:KEY`) whether the rest can take
        over, worst first, as `leeward resilience`.

        A picture with `unseen` parts is refused, unless `partial` is given: then the answer leaves them out.
        Raises: QuestionError.
        """
        state = self._seen(partial)
        try:
            return survey(state, losses_by(state, by, n), by)
        except OperationFailed as error:
            raise QuestionError(str(error)) from error

    def rehearse(self, scenario: str | os.PathLike[str] | Manifest, *, partial: bool = False) -> RehearsalReport:
        """Plays a scenario (a file of kind Rehearsal, or its manifest) with the controllers of production on a copy of
        the fleet, in virtual time, as `leeward rehearse`. `partial` as of `resilience`. Call it outside of an event
        loop. Raises: QuestionError."""
        state = self._seen(partial)
        try:
            return rehearse(state, _scenario(scenario))
        except (ScenarioProblem, RehearsalFailed) as error:
            raise QuestionError(str(error)) from error

    def explain(self, resource: str, namespace: str = "default") -> Answer:
        """Says why something is where it is, as `leeward explain`: of an application or a binding an Explanation, of
        `cluster/NAME` a ClusterExplanation, of a Work a WorkExplanation. Raises: QuestionError."""
        try:
            return explain_in(self._state, asked_of(resource, namespace))
        except OperationFailed as error:
            raise QuestionError(str(error)) from error

    def _seen(self, partial: bool) -> FleetState:
        """Raises: QuestionError where a part could not be read, and the caller does not do without."""
        if self.unseen and not partial:
            told = "; ".join(self.unseen)
            raise QuestionError(
                f"parts of the picture could not be read: {told}. Take another picture, "
                "or give partial=True for an answer without them"
            )
        return self._state


async def _read(client: Client, name: str) -> FleetState:
    try:
        return await read_fleet(client, SystemClock(), name)
    finally:
        await client.close()


def _texts(given: Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _require_seconds(name: str, seconds: float) -> None:
    """Raises: QuestionError."""
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise QuestionError(f"{name}: {seconds!r}: give seconds, at most {LONGEST_SECONDS:g}")


def _manifests(given: Manifests) -> Iterable[Manifest]:
    """Raises: QuestionError, OSError."""
    for each in given:
        if isinstance(each, Mapping):
            yield each
            continue
        try:
            yield from parse_yaml(Path(each).read_bytes())
        except ValueError as error:
            raise QuestionError(f"{each} cannot be read: {error}") from error


def _scenario(given: str | os.PathLike[str] | Manifest) -> Scenario:
    """Raises: ScenarioProblem, OSError."""
    text: Any = json.dumps(given).encode() if isinstance(given, Mapping) else Path(given).read_bytes()
    return parse_scenario(text)
