"""`make mutants`: what a change has touched, and how a run is held against the list of survivors."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from mutmut.mutation.file_mutation import mutate_file_contents

from tests.mutants.playing import Drawing, Played, copy_sources
from tests.mutants.scope import ROOT, all_targets, changed_lines, functions_at
from tests.mutants.session import BROKEN, KILLED, NO_TESTS, SURVIVED, Orders, Player
from tests.mutants.survivors import judge, read_survivors

SOURCE = """LIMIT = 3

def first(a):
    return a

class Kind:
    def second(self):
        return 2

    async def third(self):
        return 3
"""
LISTED = """
[[survivor]]
function = "core.cluster_health.summary.wait"
was = "a > b"
becomes = ["a >= b", "a != b"]
reason = "They are never equal."

[[rule]]
pattern = "-> cast"
reason = "Casts mean nothing."
"""


def mutant(code: int, becomes: str, function: str = "wait") -> Played:
    return Played("core.cluster_health.summary", function, "a > b", becomes, code)


def listed(folder: Path, text: str = LISTED) -> Path:
    (folder / "survivors.toml").write_text(text)
    return folder / "survivors.toml"


def test_what_a_diff_adds_changes_and_takes_out_is_changed() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -3 +3,2 @@ def f():\n@@ -9,2 +10,0 @@ def g():\n@@ -20 +19 @@\n+@@ text\n"
    assert changed_lines(diff) == {3, 4, 10, 19}


def test_a_change_touches_the_functions_that_hold_its_lines() -> None:
    assert functions_at(SOURCE, {1}) == ()
    assert functions_at(SOURCE, {4, 11}) == ("first", "Kind.third")
    assert functions_at(SOURCE, {7, 8}) == ("Kind.second",)


@pytest.mark.parametrize("code", [SURVIVED, NO_TESTS])
def test_a_survivor_that_is_not_listed_fails_the_run(tmp_path: Path, code: int) -> None:
    played = [mutant(code, "a >= b"), mutant(code, "a != b"), mutant(code, "a == b"), mutant(code, "cast(a)")]
    judgement = judge(played, read_survivors(listed(tmp_path)))
    assert judgement.unlisted == (played[2],)
    assert judgement.listed == {played[0], played[1], played[3]}
    assert judgement.died == ()


def test_a_listed_survivor_that_dies_is_told_where_its_function_was_played(tmp_path: Path) -> None:
    survivors = read_survivors(listed(tmp_path))
    assert [entry.becomes for entry in judge([mutant(1, "a >= b"), mutant(0, "a != b")], survivors).died] == ["a >= b"]
    assert judge([mutant(1, "a >= b", "other")], survivors).died == ()


def test_of_a_sample_only_what_was_played_is_said_to_die(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text(LISTED)
    survivors = read_survivors(tmp_path / "list.toml")
    killed = [
        Played("core.cluster_health.summary", "wait", "a > b", becomes, KILLED) for becomes in ("a < b", "a != b")
    ]
    assert [entry.becomes for entry in judge(killed, survivors, is_sample=True).died] == ["a != b"]
    assert [entry.becomes for entry in judge(killed, survivors).died] == ["a >= b", "a != b"]


def test_a_sample_is_drawn_by_its_seed_for_each_module() -> None:
    mutants = [f"m{number}" for number in range(100)]
    drawn = Drawing(10, 1).of("core.a", mutants)
    assert len(drawn) == 10
    assert drawn == sorted(drawn, key=mutants.index) == Drawing(10, 1).of("core.a", mutants)
    assert Drawing(10, 2).of("core.a", mutants) != drawn != Drawing(10, 1).of("core.b", mutants)
    assert Drawing().of("core.a", mutants) == Drawing(100, 1).of("core.a", mutants) == mutants


def test_a_survivor_needs_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no reason is given"):
        read_survivors(listed(tmp_path, LISTED.replace("They are never equal.", " ")))


def test_every_survivor_that_is_listed_is_in_the_scope() -> None:
    modules = {target.module.removeprefix("leeward.") for target in all_targets()}
    functions = {entry.function for entry in read_survivors().entries}
    assert {f for f in functions if not any(f.startswith(f"{module}.") for module in modules)} == set()


SUMS = """
from functools import lru_cache
from threading import Event

def twice(a):
    return a + a

@lru_cache
def remembered(a):
    return thrice(a)

def thrice(a):
    return 3 * a

def never_asked(a):
    return a + 1

def wait():
    return Event().wait(timeout=0)
"""
TESTS = """
import sums

def test_twice():
    assert sums.twice(0) == 0

def test_thrice():
    assert sums.remembered(2) == 6

def test_wait():
    assert not sums.wait()
"""


def test_the_copy_that_is_mutated_has_every_file_that_a_test_may_read(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    for name in ("ARCHITECTURE.md", "pyproject.toml", "tests/data/tidy.toml", "src/leeward/core/left_works.py"):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()


def test_each_mutant_is_played_against_the_tests_that_reach_it_and_finds_nothing_that_others_have_cached(
    tmp_path: Path,
) -> None:
    mutated = mutate_file_contents("sums.py", SUMS)
    (tmp_path / "sums.py").write_text(mutated.code)
    (tmp_path / "test_sums.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text("")
    orders = Orders(
        [f"sums.{name}" for name in mutated.mutant_names], ["test_sums.py"], 2, 60, str(tmp_path / "out"), 1
    )
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-m", "tests.mutants.session"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), root))}
    subprocess.run(command, cwd=tmp_path, env=environment, input=json.dumps(asdict(orders)), text=True, check=False)
    results = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert sorted(one["mutant"] for one in results) == sorted(orders.mutants)
    codes = {name: {one["code"] for one in results if f"x_{name}__" in one["mutant"]} for name in ("twice", "thrice")}
    assert codes == {"twice": {SURVIVED}, "thrice": {KILLED}}
    assert {one["code"] for one in results if "never_asked" in one["mutant"]} == {NO_TESTS}
    assert BROKEN in {one["code"] for one in results if "x_wait__" in one["mutant"]}, "it waits for ever"


def test_those_that_killed_before_are_played_first_then_the_quickest_as_long_as_there_is_time() -> None:
    player = Player(Orders([], [], 1, 2.5, ""))
    seconds = [0.5, 3.0, 1.0, 0.1]
    assert player.in_order("m.x_f__mutmut_1", range(4), seconds) == [3, 0, 2]
    player.killers["m.x_f"][1] += 1
    assert player.in_order("m.x_f__mutmut_2", range(4), seconds) == [1], "the likeliest is played however long it takes"
    assert player.in_order("m.x_g__mutmut_1", range(4), seconds) == [3, 0, 2]
