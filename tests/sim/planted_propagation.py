"""Planted bugs of what goes along with applications, and of what clusters get in their own way."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

from msgspec import structs

from controller_runtime.informer import Informer
from kubeapi.json_document import Document
from kubeapi.meta import ReadOnlyManifest
from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBinding, TargetCluster, Work
from leeward.controllers.dependencies import attached_bindings
from leeward.controllers.dependencies.attached_bindings import AttachedBindings
from leeward.controllers.gates.dependency_order import DependencyOrder
from leeward.controllers.removals.carriers import Carriers
from leeward.controllers.rendering import override_rendering
from leeward.core.copies import disruption
from leeward.core.copies.availability import Availability, availability
from leeward.core.dependencies.attached import Dependant
from leeward.core.interpreter import ReplicaInterpretation
from leeward.core.interpreter.resource_health import ResourceHealth
from leeward.core.overrides import rendering
from leeward.core.overrides.applicable import rules_for
from leeward.core.overrides.effort import Effort, Steps
from leeward.core.overrides.override_rule import Rules, Step
from leeward.runtime.interpreter import Interpreter, NotInterpreted
from leeward.runtime.override_matching import OverrideMatching
from simulator.histories.model import Deploy, Drain, History, Provide
from simulator.histories.steered.casting import in_turn
from simulator.histories.steered.propagation import THREE, dependent, overridden, scripted
from tests.sim.planted_harm import PUSHED, Harm, both, steered

LATE_SECONDS = 3.0


def _override_as_elsewhere() -> Any:
    """Overrides that one cluster is given are given to the next one, too."""
    seen: list[Cluster] = []

    def rules(cluster: Cluster, policies: Sequence[Rules]) -> Rules:
        seen.append(cluster)
        return rules_for(seen[-2:][0], policies)

    return mock.patch.object(override_rendering, "rules_for", rules)


def _override_by_half() -> Any:
    """Overrides that cannot be carried out are left out, and the rest is written."""
    apply = rendering._apply  # pyright: ignore[reportPrivateUsage]

    def as_far_as_it_goes(document: Document, step: Step, effort: Effort) -> Steps[None]:
        try:
            yield from apply(document, step, effort)
        except ValueError:
            return

    return mock.patch.object(rendering, "_apply", as_far_as_it_goes)


def _render_before_policies_are_known() -> Any:
    """Nobody waits until override policies have been listed, which takes its time."""
    run_list = Informer[Any]._list  # pyright: ignore[reportPrivateUsage]

    async def list_late(self: Informer[Any]) -> None:
        if self.resource.plural in ("overridepolicies", "clusteroverridepolicies"):
            await asyncio.sleep(LATE_SECONDS)
        await run_list(self)

    return both(
        mock.patch.object(Informer, "_list", list_late),
        mock.patch.object(OverrideMatching, "wait_synced", mock.AsyncMock()),
    )


def _write_copies_at_once() -> Any:
    """Nobody waits until what a copy needs is there."""
    return mock.patch.object(DependencyOrder, "wait", mock.AsyncMock(return_value=None))


def _take_from_under_copies() -> Any:
    """Dependencies of a copy are where the targets are, whatever still runs elsewhere, and nothing stays for it."""

    def targets(binding: ResourceBinding, _: Collection[str]) -> tuple[TargetCluster, ...]:
        return binding.spec.clusters

    return both(
        mock.patch.object(attached_bindings, "required_clusters", targets),
        mock.patch.object(Carriers, "carries", return_value=False),
    )


def _forget_who_shares() -> Any:
    """An object goes where the first of those goes that need it."""
    found = AttachedBindings._dependants  # pyright: ignore[reportPrivateUsage]

    async def first(self: AttachedBindings, *arguments: Any) -> AsyncIterator[Dependant]:
        others = [each async for each in found(self, *arguments)]
        for number, each in enumerate(sorted(others, key=lambda each: each.name)):
            yield each if number == 0 else replace(each, snapshot=structs.replace(each.snapshot, clusters=()))

    return mock.patch.object(AttachedBindings, "_dependants", first)


def _take_failures_for_health() -> Any:
    """Objects of which a script says nothing do well."""
    health = Interpreter.health

    async def hopeful(self: Interpreter, observed: ReadOnlyManifest, *, has_status: bool = False) -> ResourceHealth:
        try:
            return await health(self, observed, has_status=has_status)
        except NotInterpreted:
            return ResourceHealth.HEALTHY

    return mock.patch.object(Interpreter, "health", hopeful)


def _take_failures_for_none() -> Any:
    """Objects that a script does not count have no replicas."""
    replicas = Interpreter.replicas

    async def careless(self: Interpreter, *arguments: Any) -> ReplicaInterpretation:
        try:
            return await replicas(self, *arguments)
        except NotInterpreted:
            return ReplicaInterpretation(0, None)

    return mock.patch.object(Interpreter, "replicas", careless)


def _rely_on_what_is_unknown() -> Any:
    """A copy that nobody calls Unhealthy replaces another one."""

    def is_well(work: Work | None, cluster: Cluster | None, replicas: int) -> Availability:
        known = availability(work, cluster, replicas)
        statuses = work.status.manifest_statuses if work is not None else ()
        is_unknown = bool(statuses) and all(status.health == "Unknown" for status in statuses)
        return replace(known, at_least=max(1, replicas), is_whole=True) if is_unknown else known

    is_judged = mock.patch.object(disruption.KnownCopy, "is_unjudged", new=False)
    return both(mock.patch.object(disruption, "availability", is_well), is_judged)


_DRAINED = History(
    seed=9,
    members=PUSHED,
    steps=(
        Provide(at=41, name="settings", what="ConfigMap"),
        Deploy(at=45, app="web", plan=structs.replace(in_turn(*THREE), follows=True), reads=("settings",)),
        Drain(at=90, cluster="m1", lasts=60),
    ),
)
"""A copy serves on in m1 until its replacement does."""

PROPAGATION: Mapping[str, Harm] = {
    "take failures for health": Harm(_take_failures_for_health, "S16", steered(scripted)),
    "take failures for none": Harm(_take_failures_for_none, "S16", steered(scripted)),
    "rely on what is unknown": Harm(_rely_on_what_is_unknown, "S16", steered(scripted)),
    "write copies at once": Harm(_write_copies_at_once, "S15", steered(dependent)),
    "take from under copies": Harm(_take_from_under_copies, "S15", _DRAINED),
    "forget who shares": Harm(_forget_who_shares, "S15", steered(dependent)),
    "override as elsewhere": Harm(_override_as_elsewhere, "S14", steered(overridden)),
    "override by half": Harm(_override_by_half, "S14", steered(overridden)),
    "render before policies are known": Harm(_render_before_policies_are_known, "S14", steered(overridden)),
}
