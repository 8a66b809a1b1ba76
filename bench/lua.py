"""Questions to scripts, beside the same questions to the rules of Leeward's own kinds, in turns in the same run.

Each question is about another Deployment, so that no answer is remembered; and the last row asks what was asked before.
As many are asked at once as a controller has workers. Times of the processor: of this process, and of the one in which
scripts run; of the quickest round, since others may use the machine.
"""

import asyncio
import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.rendering import template
from kubeapi.codec import from_wire
from kubeapi.loop.clock import SystemClock
from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from leeward.api.interpreter_config import ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration
from leeward.lua.jail import ProcessJail
from leeward.runtime.interpreter import Interpreter
from leeward.runtime.interpreter_webhooks import HttpsCalls, InterpreterWebhooks

CALLS, ROUNDS, WORKERS = 400, 10, 8
GOAL_MICROSECONDS = 200
CUSTOMIZATION: Manifest = {
    "apiVersion": "config.karmada.io/v1alpha1",
    "kind": "ResourceInterpreterCustomization",
    "metadata": {"name": "deployments"},
    "spec": {
        "target": {"apiVersion": "apps/v1", "kind": "Deployment"},
        "customizations": {
            "healthInterpretation": {
                "luaScript": """
                    function InterpretHealth(observed)
                      local status = observed.status
                      if status == nil then return false end
                      if status.observedGeneration ~= observed.metadata.generation then return false end
                      for _, condition in ipairs(status.conditions) do
                        if condition.type == "Available" and condition.status == "True" then
                          return status.updatedReplicas == observed.spec.replicas
                        end
                      end
                      return false
                    end
                """
            },
            "statusReflection": {
                "luaScript": """
                    function ReflectStatus(observed)
                      local status = {}
                      if observed.status == nil then return status end
                      status.replicas = observed.status.replicas
                      status.readyReplicas = observed.status.readyReplicas
                      status.updatedReplicas = observed.status.updatedReplicas
                      status.availableReplicas = observed.status.availableReplicas
                      status.observedGeneration = observed.status.observedGeneration
                      return status
                    end
                """
            },
        },
    },
}


TITLES = ("health", "status")


class Times(NamedTuple):
    """Seconds of the processor: of this process, and of those that it has started."""

    here: float
    there: float

    @staticmethod
    def now(child: int | None) -> "Times":
        return Times(time.process_time(), _seconds_of(child) if child is not None else 0.0)


class Row:
    """One question, to one interpreter, about ever other objects."""

    def __init__(self, interpreter: Interpreter, title: str, *, remembered: bool = False) -> None:
        self._question = {"health": interpreter.health, "status": interpreter.status}[title]
        self._remembered = remembered
        self._numbers = itertools.count()
        self.rounds: list[Times] = []

    async def ask(self) -> None:
        objects = [deployment(0 if self._remembered else next(self._numbers)) for _ in range(CALLS)]
        child = _child()
        before = Times.now(child)
        await asyncio.gather(*(self._work(objects[worker::WORKERS]) for worker in range(WORKERS)))
        after = Times.now(child)
        self.rounds.append(Times(after.here - before.here, after.there - before.there))

    async def _work(self, objects: Sequence[Manifest]) -> None:
        for each in objects:
            assert await self._question(each)


def run() -> None:
    asyncio.run(_run())


async def _run() -> None:
    async with Supervisor("bench") as supervisor:
        native, scripted = (_interpreter(supervisor, customized=customized) for customized in (False, True))
        print(f"{'one question':<24}{'native':>10}{'Lua, here':>12}{'its process':>14}{'together':>11}{'goal':>7}")
        for title in TITLES:
            await _compare(title, Row(native, title), Row(scripted, title))
        remembered = [Row(each, "health", remembered=True) for each in (native, scripted)]
        await _compare("health, asked before", *remembered)


async def _compare(title: str, native: Row, scripted: Row) -> None:
    for row in (native, scripted):
        await row.ask()
        row.rounds.clear()
    for _ in range(ROUNDS):
        await native.ask()
        await scripted.ask()
    quickest = min(native.rounds, key=sum), min(scripted.rounds, key=sum)
    plain, here, there = (each / CALLS * 1e6 for each in (quickest[0].here, *quickest[1]))
    print(f"{title:<24}{plain:>7.0f} us{here:>9.0f} us{there:>11.0f} us{here + there:>8.0f} us{GOAL_MICROSECONDS:>7}")


def _interpreter(supervisor: Supervisor, *, customized: bool) -> Interpreter:
    customizations = [from_wire(CUSTOMIZATION, ResourceInterpreterCustomization)] if customized else []

    async def known() -> list[ResourceInterpreterCustomization]:
        return customizations

    async def no_webhooks() -> list[ResourceInterpreterWebhookConfiguration]:
        return []

    webhooks = InterpreterWebhooks(no_webhooks, HttpsCalls(), SystemClock(), supervisor)
    return Interpreter(known, ProcessJail(supervisor), SystemClock(), webhooks)


def deployment(number: int) -> Manifest:
    """Deployment as a member has it."""
    made = template()
    conditions = [
        {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "it is available"},
        {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": f"web-{number}"},
    ]
    counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), 2)
    return {**made, "status": {**counts, "observedGeneration": 3, "conditions": conditions}}


def _child() -> int | None:
    """The process in which scripts run, once there is one."""
    tasks = Path(f"/proc/{os.getpid()}/task")
    children = [child for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    return int(children[0]) if children else None


def _seconds_of(process: int) -> float:
    """Seconds of its processor time, which the kernel counts in nanoseconds."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9
