"""Cost of a fleet to its controllers, and its growth: `python -m bench fleet [--full | --points 10x200,100x200]`.

For each size (clusters x bindings) a fleet of its own is made (`fleet_scene.py`). Its applications are propagated, two
copies each; `leeward serve` is stopped and started again; then nothing happens for a while; then the cluster dies
in which a fixed number of them has a copy. CPU is that of `serve`, which shares its process with nobody.

With `--copy` one application of each group of clusters is propagated, and the others are copies of these, made while
`serve` is stopped (`fleet_copies.py`). With `--results FILE` the figures of each size are kept there, and all that the
file has is fitted: large sizes can be measured one by one.

With KUBEBUILDER_ASSETS the control plane is etcd with kube-apiserver, and what a binding that fails over costs the
latter is told in *copies* (`copies.py`), too.

Each cost is fitted by a power of the number of clusters, and of bindings, over the points that differ in it alone.
"""

import argparse
import asyncio
import math
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from bench.copies import copy_seconds
from bench.fleet_scene import COPIES, DEPLOYMENTS, READS, VICTIM, Scene, Size, deployment, group_of, scene, until
from controller_runtime.informer import Informer
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS
from leeward.api.work import ResourceBinding

POINTS = "10x200,32x200,100x200,32x800"
FULL = "100x10000"
FAILING_PART = 4
"""Divisor of the fewest bindings of all points for the part that fails over; of the full fleet it is a tenth."""
IDLE_SECONDS = 40.0
QUIET = 0.05
"""Part of a core: who uses no more for some seconds in a row has nothing to do."""
QUIET_SECONDS = 5.0
PATIENCE_SECONDS = 3600.0
SERVER_AT_REST = "idle: part of a core of the API server, %"
SERVER_SPENT = "failover: API server's CPU ms for each"
SERVER_COPIES = "failover: API server's copies for each, above rest"
Figures = dict[str, float]
Kept = list[tuple[Size, Figures]]


def run() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench fleet")
    parser.add_argument("--points", default=POINTS, help="clusters x bindings, with commas between (%(default)s)")
    parser.add_argument("--failing", type=int, default=0, help="bindings that have a copy in the cluster that dies")
    parser.add_argument("--full", action="store_true", help=f"{FULL}, of which 1,000 fail over, by copies")
    parser.add_argument("--copy", action="store_true", help="propagate one application of each group, and copy these")
    parser.add_argument("--results", type=Path, help="file that figures are added to, and fitted from")
    options = parser.parse_args(sys.argv[2:])
    sizes = [tuple(map(int, point.split("x"))) for point in (FULL if options.full else options.points).split(",")]
    fewest = min(bindings for _, bindings in sizes)
    failing = options.failing or (fewest // 10 if options.full else fewest // FAILING_PART)
    if (options.copy or options.full) and os.environ.get("KUBEBUILDER_ASSETS"):
        parser.error("--copy and --full write into the store of our own API server: KUBEBUILDER_ASSETS must not be set")
    found = _read(options.results)
    for clusters, bindings in sizes:
        size = Size(clusters, bindings, failing)
        print(f"-- {size}, {failing} fail over", flush=True)
        with tempfile.TemporaryDirectory(prefix="leeward-bench-") as directory:
            found[size] = asyncio.run(_measure(size, Path(directory), copies=options.copy or options.full))
        _keep(options.results, found)
    _print_growth(found)


def _read(results: Path | None) -> dict[Size, Figures]:
    known = msgspec.json.decode(results.read_bytes(), type=Kept) if results is not None and results.exists() else []
    return dict(known)


def _keep(results: Path | None, found: dict[Size, Figures]) -> None:
    if results is not None:
        results.write_bytes(msgspec.json.encode(list(found.items())))


async def _measure(size: Size, directory: Path, *, copies: bool) -> Figures:
    figures: Figures = {}
    copy = await copy_seconds(directory)
    async with scene(size, directory) as made, Supervisor("bench") as supervisor:
        seen = Informer(made.client, RESOURCE_BINDINGS, Randomness())
        supervisor.start(seen.run(), "bindings")
        await _settle(made)
        figures |= _told(await _propagate(made, seen, made.originals() if copies else range(size.bindings)))
        await _wait_told(made)
        await made.stop_serve()
        if copies:
            await made.copy()
        for part in (_start, _idle, _fail_over):
            figures |= _told(await part(made, seen))
    if copy:
        figures |= _told(_in_copies(figures, size, copy))
    return figures


def _in_copies(figures: Figures, size: Size, copy: float) -> Figures:
    """Cost of a binding that fails over to the API server, above what that uses at rest, in copies (`copies.py`)."""
    rest = figures[SERVER_AT_REST] / 100 * figures["failover: seconds until nothing is left"] / size.failing
    return {"one copy: CPU ms": copy * 1e3, SERVER_COPIES: (figures[SERVER_SPENT] / 1e3 - rest) / copy}


def _told(figures: Figures) -> Figures:
    for name, figure in figures.items():
        print(f"  {name:<52}{figure:>12.3f}", flush=True)
    return figures


async def _propagate(made: Scene, seen: Informer[ResourceBinding], numbers: Collection[int]) -> Figures:
    bindings = len(numbers)
    spent, asked = made.spent(), await made.requests()
    begun = asyncio.get_running_loop().time()
    await made.apply(numbers)
    await until(_all(seen, bindings, _is_healthy), PATIENCE_SECONDS)
    seconds = asyncio.get_running_loop().time() - begun
    await _settle(made)
    writes = _writes(await made.requests() - asked)
    return {
        "propagation: seconds": seconds,
        "propagation: CPU ms for each": (made.spent() - spent) / bindings * 1e3,
        "propagation: writes for each": writes / bindings,
    }


async def _idle(made: Scene, seen: Informer[ResourceBinding]) -> Figures:
    await _wait_told(made)
    before, asked, members = made.spent(), await made.requests(), await made.asked_of_members()
    server = made.api_server.processor_seconds()
    await asyncio.sleep(IDLE_SECONDS)
    spent, served, after = made.spent() - before, made.api_server.processor_seconds() - server, await made.requests()
    told = after - asked
    return {
        "idle: part of a core, %": spent / IDLE_SECONDS * 100,
        SERVER_AT_REST: served / IDLE_SECONDS * 100,
        "idle: requests to the control plane a second": told.total() / IDLE_SECONDS,
        "idle: writes a second": _writes(told) / IDLE_SECONDS,
        "idle: requests to members a second": (await made.asked_of_members() - members) / IDLE_SECONDS,
        "memory, MiB": made.memory_mib(),
    }


async def _start(made: Scene, seen: Informer[ResourceBinding]) -> Figures:
    """A cold start: until an application that was created meanwhile is healthy, and until nothing is left to do."""
    name, group = "new-app", group_of(made.size.bindings - 1, made.size)
    await made.client.create(DEPLOYMENTS, deployment(name, group), "default")
    asked = await made.requests()
    begun = asyncio.get_running_loop().time()
    await made.start_serve()

    async def is_there() -> bool:
        binding = seen.get(f"{name}-deployment", "default")
        return binding is not None and _is_healthy(binding)

    await until(is_there, PATIENCE_SECONDS, 0.05)
    seconds, ready = asyncio.get_running_loop().time() - begun, made.spent()
    await _settle(made)
    told = await made.requests() - asked
    return {
        "cold start: seconds until it serves": seconds,
        "cold start: CPU s until it serves": ready,
        "cold start: CPU s until nothing is left": made.spent(),
        "cold start: writes": float(_writes(told)),
    }


async def _fail_over(made: Scene, seen: Informer[ResourceBinding]) -> Figures:
    await made.open_ways_out()
    await _settle(made)
    failing = [each.name for each in seen.list() if VICTIM in _clusters_of(each)]
    assert len(failing) == made.size.failing, f"{len(failing)} are in {VICTIM}"
    asked, loop = await made.requests(), asyncio.get_running_loop()
    await made.kill_victim()
    await _tainted(made)
    begun, before, server = loop.time(), made.spent(), made.api_server.processor_seconds()

    def each(holds: Callable[[ResourceBinding], bool]) -> Callable[[ResourceBinding], bool]:
        return lambda binding: VICTIM not in _clusters_of(binding) and holds(binding)

    await until(_all(seen, 0, each(lambda binding: len(_clusters_of(binding)) == COPIES), failing), PATIENCE_SECONDS)
    placed, placed_spent = loop.time() - begun, made.spent() - before
    await until(_all(seen, 0, each(_is_healthy), failing), PATIENCE_SECONDS)
    healthy, healthy_spent = loop.time() - begun, made.spent() - before
    await _settle(made)
    count, seconds = made.size.failing, loop.time() - begun
    return {
        "failover: seconds from the taint until all are placed": placed,
        "failover: seconds from the taint until all are healthy": healthy,
        "failover: CPU s until all are placed": placed_spent,
        "failover: CPU s until all are healthy": healthy_spent,
        "failover: CPU ms for each, to the end": (made.spent() - before) / count * 1e3,
        "failover: seconds until nothing is left": seconds,
        SERVER_SPENT: (made.api_server.processor_seconds() - server) / count * 1e3,
        "failover: writes for each": _writes(await made.requests() - asked) / count,
    }


async def _tainted(made: Scene) -> None:
    """Returns when the cluster has the taint by which it is left."""
    listed = await made.client.list(CLUSTERS)
    while True:
        events = made.client.watch(CLUSTERS, resource_version=listed.resource_version)
        async with aclosing(events):
            async for event in events:
                cluster = event.object
                if cluster is None or cluster.name != VICTIM:
                    continue
                if any(taint.effect == "NoExecute" for taint in cluster.spec.taints):
                    return


async def _settle(made: Scene) -> None:
    """Returns when `serve` has had nothing to do for a while."""
    quiet = 0.0
    while quiet < QUIET_SECONDS:
        before = made.spent()
        await asyncio.sleep(1)
        quiet = quiet + 1 if made.spent() - before <= QUIET + 0.002 * made.size.clusters else 0


async def _wait_told(made: Scene) -> None:
    """Returns when nothing is written any more: events come late."""
    quiet = 0
    while quiet < QUIET_SECONDS:
        before = _writes(await made.requests())
        await asyncio.sleep(1)
        quiet = quiet + 1 if _writes(await made.requests()) == before else 0


def _all(
    seen: Informer[ResourceBinding], count: int, holds: Callable[[ResourceBinding], bool], names: Sequence[str] = ()
) -> Callable[[], Awaitable[bool]]:
    """Tells whether it holds for all of these names, or for so many."""

    async def look() -> bool:
        if names:
            return all((found := seen.get(name, "default")) is not None and holds(found) for name in names)
        return sum(map(holds, seen.list())) >= count

    return look


def _clusters_of(binding: ResourceBinding) -> set[str]:
    return {target.name for target in binding.spec.clusters}


def _is_healthy(binding: ResourceBinding) -> bool:
    healthy = {item.cluster_name for item in binding.status.aggregated_status if item.health == "Healthy"}
    clusters = _clusters_of(binding)
    return len(clusters) == COPIES and clusters <= healthy


def _writes(asked: Mapping[str, int]) -> int:
    return sum(count for what, count in asked.items() if what.partition(" ")[0] not in READS)


def _print_growth(found: dict[Size, Figures]) -> None:
    """The exponents: 0 is flat, 1 proportional."""
    series: dict[str, tuple[Callable[[Size], tuple[int, int]], Callable[[Size], int]]] = {
        "clusters": (lambda size: (size.bindings, size.failing), lambda size: size.clusters),
        "bindings": (lambda size: (size.clusters, size.failing), lambda size: size.bindings),
    }
    for what, (fixed, varied) in series.items():
        groups: dict[tuple[int, int], list[Size]] = {}
        for size in found:
            groups.setdefault(fixed(size), []).append(size)
        for group in (group for group in groups.values() if len(group) > 1):
            print(f"-- exponents in {what}, over {', '.join(map(str, group))}")
            for name in found[group[0]]:
                points = [(varied(size), found[size][name]) for size in group]
                print(f"  {name:<52}{exponent(points):>12.2f}")


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Exponent of the power that fits best: the slope of a line through the logarithms. NaN where a cost is nothing."""
    if any(cost <= 0 for _, cost in points):
        return math.nan
    sizes, costs = [math.log(size) for size, _ in points], [math.log(cost) for _, cost in points]
    mean_size, mean_cost = sum(sizes) / len(sizes), sum(costs) / len(costs)
    covered = sum((size - mean_size) ** 2 for size in sizes)
    return sum((s - mean_size) * (c - mean_cost) for s, c in zip(sizes, costs, strict=True)) / covered
