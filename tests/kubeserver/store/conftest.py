"""The media on which the contract of the store is held."""

import asyncio
from pathlib import Path

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeserver.store.memory import MemoryMedium
from kubeserver.store.sqlite import SqliteMedium
from tests.kubeserver.stores import Machine


@pytest.fixture(params=["memory-virtual", "memory-real", "sqlite"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    memory = MemoryMedium()
    match request.param:
        case "memory-virtual":
            return Machine(run_virtual, lambda: memory)
        case "memory-real":
            return Machine(asyncio.run, lambda: memory)
        case _:
            return Machine(asyncio.run, lambda: SqliteMedium(tmp_path / "store.db"))
