"""The interpreter: what an object means, as whoever knows best says.

Of each question a ResourceInterpreterCustomization answers first, then a webhook, then what is built in for kinds of
other projects and for those of Kubernetes. Who is broken is not passed over: then there is no answer, and whether the
object is healthy is Unknown. Holds: L4.

Karmada: pkg/resourceinterpreter; same order.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Protocol

from controller_runtime import Informer, Informers
from kubeapi.codec import DecodeError, to_wire
from kubeapi.diff import is_equal
from kubeapi.errors import WorldError
from kubeapi.loop import Clock
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import mapping_at
from leeward.api.interpreter_config import (
    DependentObjectReference,
    ResourceInterpreterCustomization,
    ResourceInterpreterWebhookConfiguration,
)
from leeward.api.resource import RESOURCE_INTERPRETER_CUSTOMIZATIONS, RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS
from leeward.api.work import AggregatedStatusItem, Component, Work
from leeward.core.interpreter import (
    InterpretationError,
    ReplicaInterpretation,
    ResourceHealth,
    aggregate_status,
    components_of,
    dependencies_of,
    has_dependencies,
    health_of,
    lacks_health_rule,
    reflect_status,
    replicas_of,
    retain,
    revise_replicas,
    scripts,
    webhook_exchange,
)
from leeward.core.interpreter.dependencies import in_order
from leeward.core.interpreter.scripts import FUNCTIONS, Operation, Script
from leeward.core.interpreter.unread import unread_configuration, unread_customization
from leeward.lua.answers import RememberedAnswers
from leeward.lua.jail import Jail
from leeward.runtime.interpreter_webhooks import Configurations, InterpreterWebhooks
from leeward.runtime.webhook_queue import NotAnsweredYet, WebhookFailed

WEBHOOK_AGAIN = timedelta(seconds=60)
"""Pause after which a webhook that has failed is asked about an object again: of its recovery nobody tells."""


class NotInterpreted(WorldError):
    """Says why an interpreter that is to answer does not: a script or webhook failed, or made no sense.

    `again` is after what time it may be another matter; None where only another script or object makes it one.
    """

    def __init__(self, message: str, again: timedelta | None = None) -> None:
        super().__init__(message)
        self.again = again


class Customizations(Protocol):
    """Customizations that there are now. Raises: Unreachable while that is not known."""

    async def __call__(self) -> Iterable[ResourceInterpreterCustomization]: ...


def followed(informers: Informers) -> Customizations:
    """Customizations as the control plane tells them; followed from the first question on."""

    async def known() -> Iterable[ResourceInterpreterCustomization]:
        informer = informers.of(RESOURCE_INTERPRETER_CUSTOMIZATIONS)
        await informer.wait_synced()
        return (*informer.list(), *map(unread_customization, _never_read(informer)))

    return known


def followed_webhooks(informers: Informers) -> Configurations:
    """Configurations, as with `followed`."""

    async def known() -> Iterable[ResourceInterpreterWebhookConfiguration]:
        informer = informers.of(RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS)
        await informer.wait_synced()
        return (*informer.list(), *map(unread_configuration, _never_read(informer)))

    return known


def _never_read(informer: Informer[Any]) -> list[Manifest]:
    """Objects that are there and cannot be read, but for those that could be once: they are known as they were."""
    return [found for key, found in informer.unreadable.items() if informer.get(key.name) is None]


class Interpreter:
    """Each question raises NotInterpreted, or NotAnsweredYet while a webhook is still asked, or Unreachable while
    customizations are not known. Holds: S16."""

    def __init__(self, customizations: Customizations, jail: Jail, clock: Clock, webhooks: InterpreterWebhooks) -> None:
        self._customizations = customizations
        self._jail = RememberedAnswers(jail)
        self._clock = clock
        self._webhooks = webhooks

    async def replicas(self, template: ReadOnlyManifest, multiple_pod_templates: bool = False) -> ReplicaInterpretation:
        """Replicas, or components, that the template asks for."""
        with _told():
            components = await self._components(template) if multiple_pod_templates else None
            if components is not None:
                return ReplicaInterpretation(0, None, components)
            if script := await self._script(template, Operation.REPLICA):
                return scripts.replicas_in(await self._run(script, Operation.REPLICA, template))
            if response := await self._webhooks.ask(template, Operation.REPLICA):
                return webhook_exchange.replicas_in(response)
            return ReplicaInterpretation(*replicas_of(template))

    async def _components(self, template: ReadOnlyManifest) -> tuple[Component, ...] | None:
        if script := await self._script(template, Operation.COMPONENT):
            return scripts.components_in(await self._run(script, Operation.COMPONENT, template))
        if response := await self._webhooks.ask(template, Operation.COMPONENT):
            return webhook_exchange.components_in(response)
        return components_of(template)

    async def growth(self, work: Work, manifest: ReadOnlyManifest) -> int | None:
        """Replicas that a Work would ask for by this manifest beyond what it does; None where nobody can say."""
        before = await self.replicas_in(work.spec.workload.manifests)
        after = await self.replicas_in(manifest["spec"]["workload"]["manifests"])
        return None if before is None or after is None else after - before

    async def replicas_in(self, manifests: Iterable[ReadOnlyManifest]) -> int | None:
        """Replicas that the manifests of a Work ask for; None where nobody can say."""
        try:
            return sum([(await self.replicas(each)).replicas for each in manifests])
        except NotInterpreted:
            return None

    async def revise(self, template: ReadOnlyManifest, replicas: int) -> Manifest:
        """The template with another number of replicas."""
        with _told():
            if script := await self._script(template, Operation.REVISE_REPLICA):
                results = await self._run(script, Operation.REVISE_REPLICA, template, replicas)
                return _require_same_object(scripts.object_in(results, "ReviseReplica", template), template)
            if response := await self._webhooks.ask(template, Operation.REVISE_REPLICA, replicas=replicas):
                return _require_same_object(webhook_exchange.patched(response, template), template)
            return revise_replicas(template, replicas)

    async def revise_each(self, template: ReadOnlyManifest, counts: Iterable[int]) -> dict[int, Manifest]:
        """Revises by each of these numbers of replicas. Raises: NotAnsweredYet when all of them have been asked for."""
        revised, unanswered = dict[int, Manifest](), list[NotAnsweredYet]()
        for count in sorted(set(counts)):
            try:
                revised[count] = await self.revise(template, count)
            except NotAnsweredYet as error:
                unanswered.append(error)
        if unanswered:
            raise unanswered[0]
        return revised

    async def retain(self, desired: ReadOnlyManifest, observed: ReadOnlyManifest) -> Manifest:
        """`desired` with the fields of `observed` that belong to the member."""
        with _told():
            if script := await self._script(desired, Operation.RETAIN):
                results = await self._run(script, Operation.RETAIN, desired, observed)
                return _require_same_object(scripts.object_in(results, "Retain", desired, observed), desired)
            if response := await self._webhooks.ask(desired, Operation.RETAIN, observedObject=observed):
                return _require_same_object(webhook_exchange.patched(response, desired), desired)
            return retain(desired, observed)

    async def aggregate(self, template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Manifest | None:
        """The template with the status that its copies have together; None when there is nothing to change."""
        with _told():
            wire = [to_wire(item) for item in items]
            if script := await self._script(template, Operation.AGGREGATE_STATUS):
                results = await self._run(script, Operation.AGGREGATE_STATUS, template, wire)
                return _require_same_object(scripts.object_in(results, "AggregateStatus"), template)
            if response := await self._webhooks.ask(template, Operation.AGGREGATE_STATUS, aggregatedStatus=wire):
                return _require_same_object(webhook_exchange.patched(response, template), template)
            return aggregate_status(template, items)

    async def status(self, observed: ReadOnlyManifest) -> Any:
        """Part of a member object's status that the control plane is told; None when it has none."""
        with _told():
            if script := await self._script(observed, Operation.STATUS):
                return scripts.status_in(await self._run(script, Operation.STATUS, observed))
            if response := await self._webhooks.ask(observed, Operation.STATUS):
                return webhook_exchange.status_in(response)
            return reflect_status(observed)

    async def health(self, observed: ReadOnlyManifest, *, has_status: bool = False) -> ResourceHealth:
        """Health of the object: if it does its work, as far as anybody judges that. `has_status` as in `health_of`."""
        with _told():
            if script := await self._script(observed, Operation.HEALTH):
                return _health(scripts.health_in(await self._run(script, Operation.HEALTH, observed)))
            if response := await self._webhooks.ask(observed, Operation.HEALTH):
                return _health(webhook_exchange.health_in(response))
            return health_of(observed, has_status=has_status)

    async def dependencies(self, template: ReadOnlyManifest) -> list[DependentObjectReference]:
        """Objects that the template needs beside it: all scripts of its kind are asked, and none may fail."""
        with _told():
            found = await self._scripts(template, Operation.DEPENDENCY)
            answers = [scripts.dependencies_in(await self._run(each, Operation.DEPENDENCY, template)) for each in found]
            if found:
                return in_order(each for answer in answers for each in answer)
            if response := await self._webhooks.ask(template, Operation.DEPENDENCY):
                return in_order(webhook_exchange.dependencies_in(response))
            return dependencies_of(template)

    async def known_dependencies(self, work: Work | None) -> list[DependentObjectReference] | None:
        """Objects that the copy of a Work needs beside it; None when nobody can say."""
        manifests = work.spec.workload.manifests if work is not None else ()
        try:
            return [each for manifest in manifests for each in await self.dependencies(manifest)]
        except (NotInterpreted, NotAnsweredYet):
            return None

    async def has_dependencies(self, template: ReadOnlyManifest) -> bool:
        """Tells whether anything is known of the needs of this kind's templates."""
        return has_dependencies(template) or await self.is_customized(template, Operation.DEPENDENCY)

    async def lacks_health_rule(self, template: ReadOnlyManifest) -> bool:
        """Tells whether nobody says when its copies are healthy."""
        return lacks_health_rule(template) and not await self.is_customized(template, Operation.HEALTH)

    async def is_customized(self, manifest: ReadOnlyManifest, operation: Operation) -> bool:
        """Tells whether somebody else than the built-in rules answers."""
        return bool(await self._scripts(manifest, operation)) or await self._webhooks.answers(manifest, operation)

    async def is_hooked(self, manifest: ReadOnlyManifest, operation: Operation) -> bool:
        """Tells whether a webhook answers."""
        return not await self._scripts(manifest, operation) and await self._webhooks.answers(manifest, operation)

    async def _script(self, manifest: ReadOnlyManifest, operation: Operation) -> Script | None:
        return next(iter(await self._scripts(manifest, operation)), None)

    async def _scripts(self, manifest: ReadOnlyManifest, operation: Operation) -> list[Script]:
        known = await self._customizations()
        return scripts.scripts_for(known, manifest.get("apiVersion", ""), manifest.get("kind", ""), operation)

    async def _run(self, script: Script, operation: Operation, *arguments: Any) -> list[Any]:
        now = int(self._clock.now().timestamp())
        try:
            return await self._jail.call(script.text, FUNCTIONS[operation], arguments, now)
        except InterpretationError as error:
            raise InterpretationError(f"customization {script.customization}: {error}") from error


@contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except (ValueError, DecodeError) as error:
        again = WEBHOOK_AGAIN if isinstance(error, WebhookFailed) else None
        raise NotInterpreted(str(error), again) from error


def _health(is_healthy: bool) -> ResourceHealth:
    return ResourceHealth.HEALTHY if is_healthy else ResourceHealth.UNHEALTHY


def _require_same_object(found: Manifest, wanted: ReadOnlyManifest) -> Manifest:
    """Sees that what comes back is the object that was given, and none that it would rather write to.
    Raises: InterpretationError. Holds: S6."""
    theirs, ours = mapping_at(found, "metadata"), mapping_at(wanted, "metadata")
    for field in ("apiVersion", "kind"):
        if not is_equal(found.get(field), wanted.get(field)):
            raise InterpretationError(f"it has changed {field} to {found.get(field)!r}")
    for field in ("name", "namespace"):
        if not is_equal(theirs.get(field), ours.get(field)):
            raise InterpretationError(f"it has changed metadata.{field} to {theirs.get(field)!r}")
    return found
