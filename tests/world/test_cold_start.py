"""A process that begins looks at what is settled last: an application that came meanwhile does not wait for it."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from controller_runtime.identity import Key
from controller_runtime.queue import WorkQueue
from kubeapi.loop.virtual import run_virtual
from leeward.api.names import work_name
from leeward.controllers.scheduler.bindings import BindingKey
from leeward.manager.timing import Timing
from leeward.runtime.templates import TemplateKey
from leeward.sim.world import World
from tests.world.stories import apply, by_weight, deployment, policy
from tests.world.test_standby import APPLICATIONS, Asked, applications_run


@contextmanager
def noted(keys: dict[bool, set[object]]) -> Generator[None]:
    """Notes the keys that are added, late or not; but for the scheduler's, whose order is that of its ranks."""
    code = WorkQueue[object].add.__code__

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is code and not isinstance(frame.f_locals["key"], BindingKey):
            keys[frame.f_locals["late"]].add(frame.f_locals["key"])

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def _keys_of(name: str) -> set[object]:
    """Keys of its template, its binding and its Works."""
    template = TemplateKey("apps/v1", "Deployment", Key("default", name))
    return {template, Key("default", f"{name}-deployment"), work_name("Deployment", name, "default")}


def test_settled_applications_are_looked_at_last_by_who_begins_and_nothing_of_theirs_is_written() -> None:
    async def story() -> None:
        async with World({"member1": "Push", "member2": "Push"}, Timing.karmada()) as world:
            await applications_run(world)
            await world.stop_controllers()
            placement = by_weight({"member1": 1, "member2": 1})
            await apply(world.client, deployment("new", 2), policy("new", placement))
            asked, keys = Asked(world), {True: set[object](), False: set[object]()}
            with noted(keys):
                world.start_controllers()
                await world.sleep(60)
            assert world.assigned("new-deployment") == {"member1": 1, "member2": 1}
            late, others = keys[True], keys[False]
            for number in range(APPLICATIONS):
                settled = _keys_of(f"web{number}")
                assert settled <= late
                assert settled.isdisjoint(others)
            assert _keys_of("new") <= others
            assert not [path for path in asked.writes if "web" in path]

    run_virtual(story())
