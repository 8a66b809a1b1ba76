"""Answers that are remembered: of large questions none is, since thousands of them would fill the memory.

    has            the right to change one object again and again
    does           gives it another text of a megabyte, or tens of thousands of resources, each time
    must not get   a process that keeps all of them

Holds: L4.
"""

from collections.abc import Callable
from typing import Any, cast

import pytest

from kubeapi import quantity
from kubeapi.codec import encode
from kubecluster.rules import cron_schedule
from kubeserver.kinds.pod_rules import texts
from kubeserver.store import Record, Store
from leeward.core import amounts
from leeward.manager.quota_admission import QuotaAdmission
from leeward.planning import capacity, nodes
from leeward.planning.capacity import Demand

LONG = "1" * 100_000
MANY = {f"example.com/r{number}": "1" for number in range(10_000)}


def parsed(schedule: str) -> object:
    return cron_schedule._parse(schedule)  # pyright: ignore[reportPrivateUsage]


def is_name(name: str) -> object:
    return amounts._is_name(name)  # pyright: ignore[reportPrivateUsage]


def asked(sizes: nodes.Sizes) -> object:
    return nodes._ask(sizes)  # pyright: ignore[reportPrivateUsage]


REMEMBERING: list[tuple[Callable[[Any], object], Any, Any, object, str]] = [
    (capacity.nanos, LONG, "250m", capacity, "_remembered_nanos"),
    (quantity.parse_quantity, LONG, "251m", quantity, "_remembered"),
    (Demand.of, MANY, {"cpu": "252m"}, capacity, "_remembered_demand"),
    (Demand.of, {"cpu": LONG}, {"cpu": "253m"}, capacity, "_remembered_demand"),
    (asked, tuple((name, 1) for name in MANY), (("cpu", 254),), nodes, "_remembered_ask"),
    (is_name, LONG, "example.com/gpu", amounts, "_is_short_name"),
    (parsed, ",".join(["1-5"] * 10_000) + " * * * *", "17 4 * * *", cron_schedule, "_remembered"),
    (texts.read_address, f"fe80::1%{LONG}", "10.1.2.3", texts, "_remembered_address"),
    (texts.read_network, LONG, "10.1.2.0/24", texts, "_remembered_network"),
]


@pytest.mark.parametrize(("ask", "large", "small", "module", "memory"), REMEMBERING, ids=range(len(REMEMBERING)))
def test_l4_of_large_questions_no_answer_is_remembered(
    ask: Callable[[Any], object], large: Any, small: Any, module: object, memory: str
) -> None:
    remembered: Any = getattr(module, memory)
    remembered.cache_clear()
    ask(large)
    assert max((len(each) for each in _questions(large)), default=0) > 1_000
    assert remembered.cache_info().currsize < 10
    remembered.cache_clear()
    ask(small)
    assert remembered.cache_info().currsize == 1


def _questions(large: Any) -> list[Any]:
    return [large, *large.values()] if isinstance(large, dict) else [large]


class Heads:
    """A store that has the versions of one binding, one after the other."""

    def __init__(self) -> None:
        self.revision = 0

    def heads(self, prefix: str) -> list[Record]:
        if "/federatedresourcequotas/" in prefix:
            return []
        self.revision += 1
        value = encode({"metadata": {"name": "a"}, "spec": {"resource": {}, "replicas": self.revision}})
        return [Record(f"{prefix}a", self.revision, value, deleted=False)]


def test_l4_of_a_binding_the_last_version_is_remembered() -> None:
    admission = QuotaAdmission(cast("Store", Heads()), multiple_pod_templates=False)
    for _ in range(100):
        assert len(list(admission._others("default", "b"))) == 1  # pyright: ignore[reportPrivateUsage]
    assert len(admission._known) == 1  # pyright: ignore[reportPrivateUsage]
