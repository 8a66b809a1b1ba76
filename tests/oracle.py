"""Recorded answers of Karmada's own decision code, and how to replay them.

Each file `tests/data/oracle/<suite>.jsonl.gz` has one independent case per line: `{"id", "op"?, "kind"?, "in", "out"}`.
A test says what our answer is, what it should be, and which inputs are out of scope, with the reason.
"""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from leeward.api.quantity import parse_quantity

DATA = Path(__file__).parent / "data" / "oracle"
SHOWN = 5
QUANTITIES = ("requests", "limits", "resourceRequest")


@dataclass(frozen=True)
class Case:
    id: str
    op: str
    kind: str
    given: dict[str, Any]
    expected: dict[str, Any]


def load(suite: str, *ops: str) -> list[Case]:
    """The cases of a suite, of these operations only when any are named."""
    with gzip.open(DATA / f"{suite}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    cases = [Case(r["id"], r.get("op", ""), r.get("kind", ""), r["in"], r["out"]) for r in rows]
    return [case for case in cases if not ops or case.op in ops]


def replay(
    cases: list[Case],
    answer: Callable[[Case], object],
    expected: Callable[[Case], object],
    *,
    skip: Callable[[Case], str | None] = lambda case: None,
    at_least: int,
) -> None:
    """Asserts that all cases which are not skipped have the expected answer, and that enough of them are left."""
    reasons = {case.id: skip(case) for case in cases}
    skipped = Counter(reason for reason in reasons.values() if reason)
    for reason, count in skipped.items():
        print(f"skipped {count} of {len(cases)}: {reason}")
    tried = [case for case in cases if not reasons[case.id]]
    assert len(tried) >= at_least, f"only {len(tried)} of {len(cases)} cases are in scope"
    wrong = [(case.id, got, want) for case in tried if (got := answer(case)) != (want := expected(case))]
    report = "\n".join(f"{id}\n  got  {got}\n  want {want}" for id, got, want in wrong[:SHOWN])
    assert not wrong, f"{len(wrong)} of {len(tried)} differ:\n{report}"


def at(value: Any, *path: str) -> Any:
    """What the JSON value has at the path; None when a step is missing."""
    for key in path:
        value = cast(dict[str, Any], value).get(key) if isinstance(value, dict) else None
    return value


def all_at(value: Any, *path: str) -> list[Any]:
    """The list at the path; empty when there is none."""
    return at(value, *path) or []


def told(value: Any) -> Any:
    """`value` without empty members and zeros: Go prints zero values (`strategy: {}`) where nothing was said.

    Quantities are told by their amount, since `1.5Gi` and `1536Mi` are the same.
    """
    if isinstance(value, dict):
        members = cast(dict[str, Any], value)
        pruned = {key: amounts(item) if key in QUANTITIES else told(item) for key, item in members.items()}
        return {key: item for key, item in pruned.items() if item is False or item not in (None, 0, "", [], {})}
    if isinstance(value, list):
        return [told(item) for item in cast(list[Any], value)]
    return value


def amounts(quantities: Any) -> dict[str, Decimal]:
    wire: dict[str, Any] = quantities or {}
    return {name: parse_quantity(text) for name, text in wire.items()}
