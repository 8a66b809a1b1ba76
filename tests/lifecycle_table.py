"""The lifecycle of a copy as ARCHITECTURE.md shows it; `python -m tests.lifecycle_table` writes it."""

from pathlib import Path

from leeward.core.copies.lifecycle import LIFECYCLE, CopyState

PAGE = Path(__file__).parents[1] / "ARCHITECTURE.md"
HEADING = "## The life of a copy\n"
INTRODUCTION = """
A copy is what a binding has in one cluster. It is *Wanted* until all of it serves, then *Serving*. A copy that is to go
is *Leaving*: it runs on. It is *Going* once its member is told to delete it. This table is drawn from the code
(`core/copies/lifecycle.py`). A decision takes the first row that is due.

Before a copy is deleted, one law is asked: the others surely serve all that is asked for. It is not asked where nothing
is asked for, for a deleted template, an unjoined cluster, and a person's `suppressDeletion: false`. Nor does it hold
`Directly` while its taint stands, what runs nothing, and `--karmada-exact`.

"""


def section() -> str:
    rows = [
        f"| {number} | {_listed(row.before)} | {row.when} | {_listed(row.after)} | {row.guard} |"
        for number, row in enumerate(LIFECYCLE, 1)
    ]
    table = "\n".join(("| | from | when | to | under which guard |", "|---|---|---|---|---|", *rows))
    return f"{HEADING}{INTRODUCTION}{table}\n"


def shown() -> str:
    _, heading, rest = PAGE.read_text().partition(HEADING)
    return heading + rest.partition("\n## ")[0]


def _listed(states: tuple[CopyState, ...]) -> str:
    return ", ".join(states)


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().replace(shown(), section()))
