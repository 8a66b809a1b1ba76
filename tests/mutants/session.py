"""One pytest session in a mutated copy of the repository, which plays all mutants: `python -m tests.mutants.session`.

The tests are collected once. A first child plays them all without a fault, and says which test reaches which function
and how long it takes. Then a child is forked for each mutant: it plays the tests that reach the mutant's function, and
ends with the first that fails. Those that have killed mutants of that function come first, then the quickest. The
parent plays nothing, so that no child finds what an earlier one has cached. A child has a bound of processor time and
of memory, for mutants that never end, and does not stand still for long.

Reads its orders as JSON from the standard input (`Orders`), and writes one line of JSON for each mutant.
"""

import gc
import json
import os
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, TextIO

import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from mutmut.mutation import trampoline

SURVIVED, KILLED, NO_TESTS, BROKEN = 0, 1, 33, 4
LEAST_SECONDS, TIMES_LONGER = 5, 3
"""A mutant may take so long, and so many times as long as its tests take without it, in seconds of the processor."""
STILL_SECONDS, LEAST_WORK = 10.0, 0.05
"""A child that has used less of the processor within so long waits for what does not come, and is ended."""
MOST_MEMORY = 4 << 30
QUIETLY = ("-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=native", "-m", "not long")
"""Options of pytest with which nothing is told of why a test fails: that it does is enough. Tests that take more than
a second judge nothing: one of them counts what it has drawn for `core`, and draws otherwise in a mutated copy."""


@dataclass(frozen=True)
class Orders:
    """Mutants by their names in the mutated modules, what is to be run, how many at a time, and where results go.

    `seconds` of tests, as long as they take without a fault, are played for each mutant: the likeliest and quickest.
    One that stands still for `still_seconds` is ended.
    """

    mutants: Sequence[str]
    tests: Sequence[str]
    children: int
    seconds: float
    results: str
    still_seconds: float = STILL_SECONDS


@dataclass
class Reached:
    """The tests that reach each function, by its mangled name, and the seconds that each test takes."""

    tests: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    seconds: list[float] = field(default_factory=list[float])


class Player:
    """A plugin that plays mutants where pytest would run its tests."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.killers = defaultdict[str, Counter[int]](Counter)

    def pytest_configure(self) -> None:
        """A failure is a failure: nobody reads the least example that shows it."""
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", hypothesis.settings.default, phases=phases)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.freeze()
        reached = _reached(session.items)
        with Path(self.orders.results).open("w", buffering=1) as results:
            self._play_all(session.items, reached, results)
        return True

    def _play_all(self, items: list[pytest.Item], reached: Reached, results: TextIO) -> None:
        running: dict[int, tuple[str, int]] = {}
        for mutant in self.orders.mutants:
            tests = reached.tests.get(function_of(mutant), [])
            if not tests:
                results.write(_result(mutant, NO_TESTS))
                continue
            while len(running) >= self.orders.children:
                self._wait(running, items, results)
            chosen = self.in_order(mutant, tests, reached.seconds)
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                limit = LEAST_SECONDS + TIMES_LONGER * sum(reached.seconds[test] for test in chosen)
                _watch_for_standstill(self.orders.still_seconds)
                _play(mutant, [(test, items[test]) for test in chosen], limit, writing)
            os.close(writing)
            running[child] = (mutant, reading)
        while running:
            self._wait(running, items, results)

    def in_order(self, mutant: str, tests: Iterable[int], seconds: Sequence[float]) -> list[int]:
        killers = self.killers[function_of(mutant)]
        ordered = sorted(tests, key=lambda test: (-killers[test], seconds[test]))
        sums = accumulate(seconds[test] for test in ordered)
        return [
            test for test, end in zip(ordered, sums, strict=True) if test == ordered[0] or end <= self.orders.seconds
        ]

    def _wait(self, running: dict[int, tuple[str, int]], items: list[pytest.Item], results: TextIO) -> None:
        child, status, usage = os.wait3(0)
        mutant, reading = running.pop(child)
        with os.fdopen(reading) as pipe:
            killer = pipe.read()
        if killer:
            self.killers[function_of(mutant)][int(killer)] += 1
        code = os.waitstatus_to_exitcode(status)
        results.write(_result(mutant, code, items[int(killer)].nodeid if killer else "", usage.ru_utime))


def function_of(mutant: str) -> str:
    """The mangled name of the function that a mutant is one of."""
    return mutant.rpartition("__mutmut_")[0]


def _result(mutant: str, code: int, killer: str = "", seconds: float = 0) -> str:
    return json.dumps({"mutant": mutant, "code": code, "killer": killer, "seconds": round(seconds, 2)}) + "\n"


def _reached(items: Sequence[pytest.Item]) -> Reached:
    """Plays all tests without a fault, in a child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writing, "w") as out:
            json.dump(_measure(items), out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    measured = json.loads(found)
    if measured["failed"]:
        raise pytest.UsageError(f"these fail without a fault: {measured['failed']}")
    return Reached(measured["tests"], measured["seconds"])


def _measure(items: Sequence[pytest.Item]) -> dict[str, Any]:
    hits: set[str] = set()

    def record(name: str, caller: str | None = None) -> None:
        hits.add(name)

    trampoline.record_trampoline_hit = record  # pyright: ignore[reportPrivateImportUsage]
    trampoline.set_mutant_under_test("stats")
    tests = defaultdict[str, list[int]](list)
    seconds: list[float] = []
    failed: list[str] = []
    for number, (item, following) in enumerate(_pairs(items)):
        hits.clear()
        began = time.process_time()
        if _fails(item, following):
            failed.append(item.nodeid)
        seconds.append(time.process_time() - began)
        for function in hits:
            tests[function].append(number)
    return {"tests": tests, "seconds": seconds, "failed": failed}


def _play(mutant: str, chosen: Sequence[tuple[int, pytest.Item]], seconds: float, writing: int) -> None:
    """Ends the process with what has become of the mutant; before that, writes the number of the test that failed."""
    bound = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (bound, bound + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    trampoline.set_mutant_under_test(mutant)
    try:
        for (number, item), (_, following) in zip(chosen, [*chosen[1:], (0, None)], strict=True):
            if _fails(item, following):
                os.write(writing, str(number).encode())
                os._exit(KILLED)
    except BaseException:
        os._exit(BROKEN)
    os._exit(SURVIVED)


def _watch_for_standstill(seconds: float) -> None:
    """Ends the process when it only waits."""
    used = 0.0

    def look(*_: object) -> None:
        nonlocal used
        before, used = used, time.process_time()
        if used - before < LEAST_WORK:
            os._exit(BROKEN)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def _fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    reports = runtestprotocol(item, log=False, nextitem=following)
    return any(report.failed for report in reports)


def _pairs(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=True)


def main() -> int:
    orders = Orders(**json.load(sys.stdin))
    return pytest.main([*QUIETLY, *orders.tests], plugins=[Player(orders)])


if __name__ == "__main__":
    sys.exit(main())
