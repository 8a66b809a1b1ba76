"""The list of mutants that may survive, `survivors.toml`, and how a run is held against it.

Mutants have no names that last: one is known by its function, the lines that it changes, and what becomes of them. A
rule speaks of all that become what its pattern says, wherever they are. Both give a reason.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.mutants.playing import Played

FILE = Path(__file__).with_name("survivors.toml")


@dataclass(frozen=True)
class Entry:
    """One mutant that may survive."""

    function: str
    was: str
    becomes: str
    reason: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.function, self.was, self.becomes


@dataclass(frozen=True)
class Rule:
    """All mutants whose change, written `was -> becomes`, matches."""

    pattern: re.Pattern[str]
    reason: str


@dataclass(frozen=True)
class Survivors:
    entries: tuple[Entry, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Judgement:
    """Mutants that survive and are listed; that survive and are not; and that are listed of functions played, and die.

    Of a sample only what was played itself is known to die.
    """

    listed: "frozenset[Played]"
    unlisted: "tuple[Played, ...]"
    died: tuple[Entry, ...]


def read_survivors(path: Path = FILE) -> Survivors:
    """Raises ValueError for an entry without a reason."""
    data = tomllib.loads(path.read_text())
    entries = [entry for table in data.get("survivor", []) for entry in _entries(table)]
    rules = tuple(Rule(re.compile(table["pattern"]), table["reason"]) for table in data.get("rule", []))
    for one in (*entries, *rules):
        if not one.reason.strip():
            raise ValueError(f"{path.name}: no reason is given for {one}")
    return Survivors(tuple(entries), rules)


def _entries(table: dict[str, Any]) -> list[Entry]:
    becomes: str | list[str] = table["becomes"]
    texts = [becomes] if isinstance(becomes, str) else becomes
    return [Entry(table["function"], table["was"], text, table["reason"]) for text in texts]


def judge(played: "Sequence[Played]", survivors: Survivors, *, is_sample: bool = False) -> Judgement:
    known = {entry.key for entry in survivors.entries}
    alive = [one for one in played if not one.is_killed]
    listed = [one for one in alive if one.entry().key in known or _is_ruled(one, survivors.rules)]
    names = {one.entry().function for one in played}
    keys = {one.entry().key for one in alive}
    died = [entry for entry in survivors.entries if entry.function in names and entry.key not in keys]
    if is_sample:
        died = [entry for entry in died if entry.key in {one.entry().key for one in played}]
    return Judgement(frozenset(listed), tuple(one for one in alive if one not in listed), tuple(died))


def _is_ruled(one: "Played", rules: tuple[Rule, ...]) -> bool:
    return any(rule.pattern.search(f"{one.was} -> {one.becomes}") for rule in rules)


def render_entry(entry: Entry) -> str:
    """The entry as it stands in the list."""
    fields = {"function": entry.function, "was": entry.was, "becomes": entry.becomes, "reason": entry.reason}
    return "[[survivor]]\n" + "".join(f"{k} = {json.dumps(v, ensure_ascii=False)}\n" for k, v in fields.items())
