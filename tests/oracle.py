"""Recorded answers of Karmada's own decision code, and how to replay them.

Each file `tests/data/oracle/<suite>.jsonl.gz` has one independent case per line: `{"id", "op"?, "kind"?, "in", "out"}`.
A test says what our answer is, and what it should be. Two kinds of rules about the input, each with a reason, say more:
`differs` where we answer otherwise on purpose, with a check of what we answer instead; `skip` where a case is not
applicable, because it is about what Leeward does not have. Of an input that Leeward may meet our answer is checked.

A test that calls `replay` takes part in `make oracle DIR=path`, which replays another directory of such files and
prints for each how many cases passed, differed (checked), or were not applicable. It fails on everything else: a case
that failed, one that no test has looked at, a file that no test knows.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from kubeapi.quantity import parse_quantity

HERE = Path(__file__).parent
ELSEWHERE = "LEEWARD_ORACLE_DIR"
REPORT = "LEEWARD_ORACLE_REPORT"
DATA = Path(os.environ.get(ELSEWHERE, HERE / "data" / "oracle"))
SHOWN = 5
QUANTITIES = ("requests", "limits", "resourceRequest")

Verdict = Literal["passed", "failed", "differs", "skipped"]


@dataclass(frozen=True)
class Case:
    id: str
    op: str
    kind: str
    given: dict[str, Any]
    expected: dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """Difference on purpose: its reason, and a check that raises when what we answer instead is wrong."""

    reason: str
    check: Callable[[Case, Any], None]


def load(suite: str, *ops: str) -> list[Case]:
    """The cases of a suite, of these operations only when any are named."""
    file = next((f for f in (DATA / f"{suite}.jsonl.gz", DATA / f"{suite}.jsonl") if f.exists()), None)
    if file is None:
        pytest.skip(f"{DATA} has no {suite}")
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    cases = [_case(row) for row in rows]
    return [case for case in cases if not ops or case.op in ops]


def load_handler(handler: str) -> list[Case]:
    """The cases of one handler of the suite `webhook`."""
    with gzip.open(DATA / "webhook.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [Case(row["id"], "", "", row["in"], row["out"]) for row in rows if row["handler"] == handler]


def _case(row: dict[str, Any]) -> Case:
    """Suites about scripts say `operation`, `input` and `output`, and `error` and `unordered` beside them."""
    if "operation" not in row:
        return Case(row["id"], row.get("op", ""), row.get("kind", ""), row["in"], row["out"])
    expected = {**row.get("output", {}), **{name: row[name] for name in ("error", "unordered") if name in row}}
    return Case(row["id"], row["operation"], row["kind"], row["input"], expected)


def replay(
    cases: list[Case],
    answer: Callable[[Case], object],
    expected: Callable[[Case], object],
    *,
    skip: Callable[[Case], str | None] = lambda case: None,
    differs: Callable[[Case], Difference | None] = lambda case: None,
    at_least: int,
) -> None:
    """Asserts that all cases which are not skipped have the expected answer, and that enough of them are left."""
    judged = [(case, *_judge(case, answer, expected, skip, differs)) for case in cases]
    _report(judged)
    reasons = Counter((verdict, text) for _, verdict, text in judged if verdict in ("skipped", "differs"))
    for (verdict, reason), count in reasons.items():
        print(f"{verdict} {count} of {len(cases)}: {reason}")
    tried = sum(verdict != "skipped" for _, verdict, _ in judged)
    assert tried >= at_least or ELSEWHERE in os.environ, f"only {tried} of {len(cases)} cases are in scope"
    wrong = [f"{case.id}\n{text}" for case, verdict, text in judged if verdict == "failed"]
    assert not wrong, f"{len(wrong)} of {tried} differ:\n" + "\n".join(wrong[:SHOWN])


def _judge(
    case: Case,
    answer: Callable[[Case], object],
    expected: Callable[[Case], object],
    skip: Callable[[Case], str | None],
    differs: Callable[[Case], Difference | None],
) -> tuple[Verdict, str]:
    if reason := skip(case):
        return "skipped", reason
    difference = differs(case)
    try:
        got, want = answer(case), expected(case)
        if got == want:
            return "passed", ""
        if difference is None:
            return "failed", f"  got  {got}\n  want {want}"
        difference.check(case, got)
    except Exception as error:
        return "failed", f"  raised {error!r}"
    return "differs", difference.reason


def _report(judged: Iterable[tuple[Case, Verdict, str]]) -> None:
    if REPORT in os.environ:
        with open(os.environ[REPORT], "a", encoding="utf-8") as report:
            report.writelines(json.dumps([case.id, verdict, text]) + "\n" for case, verdict, text in judged)


def at(value: Any, *path: str) -> Any:
    """Part of the JSON value at the path; None when a step is missing."""
    for key in path:
        value = cast(dict[str, Any], value).get(key) if isinstance(value, dict) else None
    return value


def all_at(value: Any, *path: str) -> list[Any]:
    """The list at the path; empty when there is none."""
    return at(value, *path) or []


PRINTED_BY_GO = frozenset(
    {
        *("availableReplicas", "currentHealthy", "currentNumberScheduled", "desiredHealthy", "desiredNumberScheduled"),
        *("desiredReplicas", "disruptionsAllowed", "expectedPods", "numberMisscheduled", "numberReady", "replicas"),
        *("exitCode", "restartCount", "image", "imageID", "name", "serviceAccountName"),
        *("lastState", "loadBalancer", "resources", "requests", "limits", "state", "status", "strategy"),
    }
)
"""Fields that a Go struct prints as 0, "" or {} where nothing was said, or drops where that was said."""


def told(value: Any) -> Any:
    """`value` without nulls, and without zeros of the fields that Go prints (`strategy: {}`) where nothing was said.

    Quantities are told by their amount, since `1.5Gi` and `1536Mi` are the same.
    """
    if isinstance(value, dict):
        members = cast(dict[str, Any], value)
        pruned = {key: amounts(item) if key in QUANTITIES else told(item) for key, item in members.items()}
        return {key: item for key, item in pruned.items() if not _says_nothing(key, item)}
    if isinstance(value, list):
        return [told(item) for item in cast(list[Any], value)]
    return value


def _says_nothing(key: str, value: Any) -> bool:
    return value is None or (key in PRINTED_BY_GO and value is not False and value in (0, "", {}))


def amounts(quantities: Any) -> dict[str, Decimal]:
    wire: dict[str, Any] = quantities or {}
    return {name: parse_quantity(text) for name, text in wire.items()}


def main(directory: str) -> int:
    """Replays all files of `directory` with every test that knows them. Returns 1 when a case is not accounted for."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.jsonl"
        report.touch()
        environment = os.environ | {ELSEWHERE: str(Path(directory).resolve()), REPORT: str(report)}
        modules = [str(f) for f in sorted(HERE.rglob("test_*.py")) if "replay(" in f.read_text(encoding="utf-8")]
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", *modules]
        tests = subprocess.run(command, env=environment, cwd=HERE.parent, capture_output=True, text=True, check=False)
        rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    if not rows:
        print(tests.stdout, tests.stderr, sep="\n")
    return 1 if _print_table(Path(directory), rows) or not rows else 0


COLUMNS: Mapping[str, str] = {
    "passed": "passed",
    "differs": "differing (checked)",
    "skipped": "not applicable",
    "failed": "failed",
    "no test": "no test",
}
"""Verdicts, and how they are headed."""


def _print_table(directory: Path, rows: list[list[str]]) -> int:
    """One line per file; a case counts as the worst of what the tests say of it. Returns how many have no good end."""
    order = ("skipped", "passed", "differs", "failed")
    verdicts: dict[str, str] = {}
    for case, verdict, _ in rows:
        verdicts[case] = max(verdict, verdicts.get(case, "skipped"), key=order.index)
    bad = 0
    unknown: list[str] = []
    print(f"{'suite':<22}{'cases':>7}" + "".join(f"{title:>{len(title) + 3}}" for title in COLUMNS.values()))
    for file in sorted(f for f in directory.iterdir() if f.name.endswith((".jsonl", ".jsonl.gz"))):
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
            counts = Counter(verdicts.get(json.loads(line)["id"], "no test") for line in lines)
        suite = file.name.partition(".")[0]
        bad += counts["failed"] + counts["no test"]
        unknown += [suite] * (counts["no test"] == counts.total())
        numbers = "".join(f"{counts[verdict]:>{len(title) + 3}}" for verdict, title in COLUMNS.items())
        print(f"{suite:<22}{counts.total():>7}{numbers}")
    _print_reasons(rows)
    for suite in unknown:
        print(f"{suite}: unknown suite: no test replays it")
    return bad


def _print_reasons(rows: list[list[str]]) -> None:
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for case, verdict, text in rows:
        if verdict != "passed":
            found[case.rsplit("/", 1)[0], COLUMNS[verdict], "" if verdict == "failed" else text].add(case)
    for (suite, verdict, reason), cases in sorted(found.items()):
        named = f" {', '.join(sorted(cases)[:SHOWN])}" if verdict == COLUMNS["failed"] else ""
        print(f"{suite}: {len(cases)} {verdict}: {reason}{named}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
