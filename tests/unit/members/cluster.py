"""A whole simulated cluster on virtual time, and a hand to act on it."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncio

from prometheus_client import CollectorRegistry

from leeward.api.meta import Manifest
from leeward.api.resource import Resource
from leeward.apiserver.inprocess import InProcessTransport
from leeward.apiserver.server import ApiServer
from leeward.apiserver.store import Store
from leeward.apiserver.store.memory import MemoryMedium
from leeward.client import Client
from leeward.loop.clock import VirtualClock
from leeward.loop.randomness import Randomness
from leeward.loop.supervisor import Supervisor
from leeward.loop.virtual import run_virtual
from leeward.members import Workloads, WorkloadSettings
from leeward.members.kinds import PODS
from leeward.runtime.metrics import Metrics
from leeward.runtime.plane import Server
