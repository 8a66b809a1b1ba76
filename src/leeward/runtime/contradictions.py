"""Answers of interpreter webhooks that contradict what was answered before about the same thing.

A server that has just started, or is being replaced, may give an answer for a moment that it would not give a minute
later. What is to be taken away on such an answer waits until it has stood for a while. Holds: S1, S3.
"""

from collections import OrderedDict
from collections.abc import Collection, Hashable, Mapping
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from controller_runtime import Key, key_of
from kubeapi.meta import ReadOnlyManifest
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import Binding
from leeward.core.dependencies.requirements import is_named
from leeward.core.interpreter.scripts import Operation
from leeward.core.propagation.digest import contents_digest
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.interpreter import NotInterpreted
from leeward.runtime.templates import TemplateKey
from leeward.runtime.webhook_queue import ANSWERED_SECONDS

K = TypeVar("K", bound=Hashable)

STANDS_AFTER = timedelta(seconds=ANSWERED_SECONDS + 60)
"""Time after which it was asked for again, since answers are remembered."""
MOST_KEPT = 10_000


class Contradictions(Generic[K]):
    """Contradicting answers by their question, and from when on each is believed."""

    def __init__(self) -> None:
        self._answers: OrderedDict[K, tuple[Hashable, datetime]] = OrderedDict()

    def is_doubtful(self, about: K, answer: Hashable, now: datetime) -> bool:
        """Tells whether the answer contradicts an earlier one, and has not stood for long enough."""
        known = self._answers.get(about)
        if known is None or known[0] != answer:
            known = self._answers[about] = answer, now + STANDS_AFTER
            while len(self._answers) > MOST_KEPT:
                self._answers.popitem(last=False)
        return now < known[1]

    def forget(self, about: K) -> None:
        """Forgets a contradiction: there is none, or nothing to ask about any more."""
        self._answers.pop(about, None)


class StandingReplicas:
    """The replicas that webhooks count of templates, one for each binding."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._contradictions = Contradictions[Key]()

    async def refuse_doubtful(
        self, template: ReadOnlyManifest, present: Binding, replicas: int, *, is_same: bool
    ) -> None:
        """Raises: NotInterpreted when a webhook counts otherwise for the `same` template than before, for now."""
        key, before, now = key_of(present), present.spec.replicas, self._plane.clock.now()
        if not is_same or replicas == before:
            self._contradictions.forget(key)
        elif await self._plane.interpreter.is_hooked(template, Operation.REPLICA) and self._contradictions.is_doubtful(
            key, replicas, now
        ):
            message = f"its webhook counts {replicas} replicas now, and {before} before, of one template"
            raise NotInterpreted(
                f"{message}: that is believed when it has stood for {STANDS_AFTER.total_seconds():g} s"
            )


class _Named(NamedTuple):
    """Answers about one dependant, as far as they are known."""

    digest: str
    """Digest of the contents that were asked about last."""
    losses: Mapping[TemplateKey, datetime]
    """Objects that are not named any more, and from when on that is believed."""


class StandingDependencies:
    """The objects that webhooks name of templates, by dependant."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._known: dict[Key, _Named] = {}

    async def doubtful(
        self,
        dependant: Key,
        template: ReadOnlyManifest,
        listed: Collection[TemplateKey],
        named: Collection[DependentObjectReference],
    ) -> Mapping[TemplateKey, datetime]:
        """Objects of those `listed` that a webhook does not name any more of the same contents, and until when that is
        doubted: a copy may need them. Contents that have changed may need less, though hardly nothing."""
        if not await self._plane.interpreter.is_hooked(template, Operation.DEPENDENCY):
            self.forget(dependant)
            return {}
        digest, now = contents_digest(template), self._plane.clock.now()
        before = self._known.get(dependant, _Named(digest, {}))
        believed = now if before.digest != digest and named else now + STANDS_AFTER
        lost = (each for each in listed if not is_named(each.kind, each.key.name, named))
        losses = {each: before.losses.get(each, believed) for each in lost}
        self._known[dependant] = _Named(digest, losses)
        return {each: until for each, until in losses.items() if now < until}

    def forget(self, dependant: Key) -> None:
        """Forgets the dependant: there is nothing to ask about any more."""
        self._known.pop(dependant, None)
