"""The fleet as it is, for all who look: followed by informers with the dashboard's own identity, and rendered when
something has changed, once for each scope that somebody sees.

It is followed from the start, so that who comes first does not wait for the lists of ten thousand applications.
Rendering waits a moment, so that a storm of changes is one version, and takes a tenth of the time at most: who looks at
ten thousand applications does not keep a processor busy. Only for who has come and has seen nothing yet it does not
wait. The renderer of the whole fleet is never forgotten: it rests while nobody looks, and then takes in what changed.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from controller_runtime import Informer, Informers
from kubeapi.core import LEASES, Lease
from kubeapi.loop import Clock, Randomness, Supervisor, run_beside
from kubeapi.resource import Resource
from kubeclient import Client, Forbidden, NotFound, NotServed, Page, Unreachable, WorldError
from leeward.answers.reading import attention_of
from leeward.api.names import HEARTBEAT_NAME, SETTINGS_ANNOTATION, SYSTEM_NAMESPACE
from leeward.api.resource import (
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTERS,
    OUTAGES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
)
from leeward.core.cluster_health.watched_time import UNKEPT
from leeward.core.settings_in_force import SettingsInForce, parse_settings
from leeward.dashboard.feed import Feed, FeedReader
from leeward.dashboard.frames import Frame
from leeward.dashboard.rights import WHOLE_SIGHT, FleetSight
from leeward.dashboard.seen_fleet import PlaneHealth, SeenFleet
from leeward.dashboard.views import FleetRenderer
from leeward.operations.brake import BrakeReading, read_brake

log = logging.getLogger(__name__)
T = TypeVar("T")

COALESCE_SECONDS = 0.2
SHARE_OF_TIME = 0.1
LOOK_SECONDS = 5.0
"""Seconds between two looks at the control plane's health, the brake, the heartbeat, and what depends on time."""
LOOK_TIMEOUT_SECONDS = 4.0
LOST_SECONDS = 15.0
"""A kind that could not be followed for longer is named: longer than a stream may take to open."""
KEPT_SECONDS = 120.0
"""Seconds for which a feed is kept that nobody reads, so that who comes back goes on in it."""

FOLLOWED: tuple[Resource[Any], ...] = (
    CLUSTERS,
    RESOURCE_BINDINGS,
    CLUSTER_RESOURCE_BINDINGS,
    PROPAGATION_POLICIES,
    CLUSTER_PROPAGATION_POLICIES,
    OUTAGES,
)
NEEDED = (CLUSTERS, RESOURCE_BINDINGS, CLUSTER_RESOURCE_BINDINGS)
"""Resources without which nothing is shown: less would be taken for all there is."""


class FleetFeed:
    """The feed of one scope, with the renderer that remembers what it has rendered; it rests while nobody reads."""

    def __init__(self, name: str, sight: FleetSight) -> None:
        self.feed = Feed(name)
        self.renderer = FleetRenderer(sight)
        self.idle_since: float | None = None
        self.is_resting = False

    def rest(self, name: str) -> None:
        """Forgets the versions, so that who comes back begins with one that is current, and keeps the renderer."""
        self.feed, self.is_resting = Feed(name), True


class FleetFollower:
    """Start it as often as you like; it follows from the first time on, until the supervisor is closed."""

    def __init__(
        self, client: Client, clock: Clock, randomness: Randomness, supervisor: Supervisor, control_plane: str
    ) -> None:
        self._client = client
        self._clock = clock
        self._randomness = randomness
        self._supervisor = supervisor
        self._control_plane = control_plane
        self._informers = Informers(client, randomness, supervisor)
        self._feeds: dict[FleetSight, FleetFeed] = {}
        self._changed = asyncio.Event()
        self._first_wanted = asyncio.Event()
        self._health = PlaneHealth()
        self._brake: BrakeReading | None = None
        self._leases: Page[Lease] | None = None
        self._unread: dict[str, str] = {}
        self._has_outages = True
        self._is_started = False
        self.renders = 0

    def start(self) -> None:
        if self._is_started:
            return
        self._is_started = True
        self._begin(WHOLE_SIGHT).idle_since = self._clock.monotonic()
        for resource in FOLLOWED:
            self._informers.of(resource).on_change(self._on_change)
        self._supervisor.start(self._look_again_and_again(), "dashboard/looking")
        self._supervisor.start(self._render_again_and_again(), "dashboard/rendering")

    @property
    def is_synced(self) -> bool:
        return self._is_started and all(self._of(resource).synced for resource in NEEDED)

    @property
    def namespaces(self) -> frozenset[str]:
        """Namespaces of the bindings and policies that are known."""
        kinds = (RESOURCE_BINDINGS, PROPAGATION_POLICIES)
        return (
            frozenset(each.namespace for kind in kinds for each in self._of(kind).list())
            if self._is_started
            else frozenset()
        )

    def open(self, sight: FleetSight, since: str) -> tuple[FeedReader, list[Frame], Callable[[], None]]:
        """A reader of what the scope sees, what it is sent first, and how it ends."""
        self.start()
        found = self._feeds.get(sight) or self._begin(sight)
        found.idle_since, found.is_resting = None, False
        if not found.feed.is_begun:
            self._first_wanted.set()
            self._changed.set()
        reader, frames = found.feed.open(since)
        return reader, frames, partial(self._leave, found, reader)

    def _begin(self, sight: FleetSight) -> FleetFeed:
        found = self._feeds[sight] = FleetFeed(self._randomness.suffix(8), sight)
        return found

    def _leave(self, found: FleetFeed, reader: FeedReader) -> None:
        found.feed.leave(reader)
        if not found.feed.readers:
            found.idle_since = self._clock.monotonic()

    def seen(self) -> SeenFleet:
        """State that is known now: objects that never change, in a picture of its own."""
        leases = () if self._leases is None else self._leases.items
        lease = next((lease for lease in leases if lease.name == HEARTBEAT_NAME), None)
        told = "" if lease is None else lease.metadata.annotations.get(SETTINGS_ANNOTATION, "")
        now = self._clock.now()
        bindings = (RESOURCE_BINDINGS, CLUSTER_RESOURCE_BINDINGS)
        return SeenFleet(
            control_plane=self._control_plane,
            now=now,
            clusters=tuple(self._of(CLUSTERS).list()),
            bindings=(*self._of(RESOURCE_BINDINGS).list(), *self._of(CLUSTER_RESOURCE_BINDINGS).list()),
            policies=(*self._of(PROPAGATION_POLICIES).list(), *self._of(CLUSTER_PROPAGATION_POLICIES).list()),
            outages=tuple(self._of(OUTAGES).list()) if self._has_outages else None,
            brake=self._brake,
            leases=leases,
            settings=parse_settings(told) if told else SettingsInForce(),
            attention=UNKEPT if lease is None else attention_of(lease, now),
            health=self._health,
            unreadable=tuple(key for kind in bindings for key in self._of(kind).unreadable),
            unseen=tuple(self._unseen()),
        )

    def _unseen(self) -> Iterator[str]:
        for resource in FOLLOWED:
            if not self._is_read(resource):
                yield f"{resource.plural}: not read yet"
            elif self._is_lost(resource):
                yield f"{resource.plural}: cannot be followed any more, and are shown as they were"
        yield from self._unread.values()
        for key in self._of(CLUSTERS).unreadable:
            yield f"cluster {key} cannot be read"

    def _is_read(self, resource: Resource[Any]) -> bool:
        return self._of(resource).synced or (resource is OUTAGES and not self._has_outages)

    def _is_lost(self, resource: Resource[Any]) -> bool:
        """Tells whether a kind is lost to sight. Of a control plane that is silent all is as it was, which is told as
        that."""
        since = self._of(resource).health.failing_since
        is_asked = self._health.silent_since is None and (resource is not OUTAGES or self._has_outages)
        return is_asked and since is not None and self._clock.monotonic() - since > LOST_SECONDS

    def _of(self, resource: Resource[Any]) -> Informer[Any]:
        return self._informers.of(resource)

    def _on_change(self, _: object, __: object) -> None:
        self._changed.set()

    async def _render_again_and_again(self) -> None:
        await self._wait_listed()
        while True:
            await self._changed.wait()
            await self._rest(COALESCE_SECONDS)
            self._changed.clear()
            self._first_wanted.clear()
            begun = self._clock.monotonic()
            await self._render()
            took = self._clock.monotonic() - begun
            await self._rest(took * (1 - SHARE_OF_TIME) / SHARE_OF_TIME)

    async def _rest(self, seconds: float) -> None:
        """Waits, but not while somebody waits for a first version."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._first_wanted.wait()

    async def _wait_listed(self) -> None:
        for resource in NEEDED:
            while not self._of(resource).synced:
                with suppress(Unreachable):
                    await self._of(resource).wait_synced()

    async def _render(self) -> None:
        """Renders for each scope that somebody sees; beside the loop, on objects that never change."""
        if not self._feeds:
            return
        seen = self.seen()
        for sight, found in list(self._feeds.items()):
            if found.idle_since is not None and self._clock.monotonic() - found.idle_since > KEPT_SECONDS:
                self._let_go(sight, found)
            if found.is_resting or sight not in self._feeds:
                continue
            try:
                collections = await run_beside(found.renderer.render, seen)
            except Exception:
                log.exception("the fleet could not be rendered: pages are not live until it can be")
                self._feeds.pop(sight).feed.close()
                continue
            self.renders += 1
            found.feed.publish(seen.now, collections)

    def _let_go(self, sight: FleetSight, found: FleetFeed) -> None:
        if sight == WHOLE_SIGHT:
            found.rest(self._randomness.suffix(8))
            found.idle_since = None
        else:
            del self._feeds[sight]

    async def _look_again_and_again(self) -> None:
        while True:
            await self._look()
            self._changed.set()
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        """Looks at what no informer tells: whether the control plane answers, the brake, and who watches."""
        try:
            response = await self._client.raw("GET", "/readyz", timeout_seconds=LOOK_TIMEOUT_SECONDS)
        except WorldError as error:
            self._health = self._health.silent(str(error), self._clock.now())
            return
        self._health = PlaneHealth.of_answer(response.code, response.body)
        self._brake = await self._looked_at("the brake", read_brake(self._client), self._brake)
        self._leases = await self._looked_at("the leases", self._client.list(LEASES, SYSTEM_NAMESPACE), self._leases)
        if not self._of(OUTAGES).synced:
            self._has_outages = await self._keeps_outages()

    async def _looked_at(self, name: str, asked: Awaitable[T], known: T | None) -> T | None:
        """Answer to what is asked for, else None where it may not be read or is not there, and what was known where
        that could not be told; in both cases its name is among what is not seen."""
        try:
            found = await asked
        except (Forbidden, NotFound, NotServed):
            self._unread[name] = f"{name}: the dashboard's own identity cannot read this"
            return None
        except WorldError:
            self._unread[name] = f"{name}: cannot be read at the moment"
            return known
        self._unread.pop(name, None)
        return found

    async def _keeps_outages(self) -> bool:
        """Karmada's control planes do not have the kind."""
        try:
            await self._client.list(OUTAGES, limit=1)
        except (NotServed, NotFound):
            return False
        except WorldError:
            return True
        return True

    def close(self) -> None:
        for found in self._feeds.values():
            found.feed.close()
