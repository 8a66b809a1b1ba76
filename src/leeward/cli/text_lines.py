"""Lines of an answer on a terminal: a headline with its mark, sections, tables; at most 100 columns.

Everything that others have named is made printable here, so that no line can be forged. No meaning is in colour alone.
"""

import textwrap
from collections.abc import Collection, Iterator, Sequence

import click

from leeward.cli.tables import printable, render_table

COLUMNS = 100
NEEDS_SOMEBODY, SOON, BAD, LEAVES, GOOD, QUIET, UNSEEN = "!", "~", "x", ">", "v", " ", "?"
COLOURS = {NEEDS_SOMEBODY: "red", SOON: "yellow", BAD: "red", LEAVES: "blue", GOOD: "green", UNSEEN: "yellow"}


def headline(mark: str, sentence: str, most_lines: int | None = None) -> Iterator[str]:
    """A sentence with its mark, in its colour; a longer one than so many lines ends with dots."""
    lines = textwrap.wrap(
        printable(sentence), COLUMNS - 2, subsequent_indent="    ", break_on_hyphens=False, max_lines=most_lines
    )
    for index, line in enumerate(lines):
        yield click.style(f"{mark if index == 0 else ' '} {line}".rstrip(), fg=COLOURS.get(mark))


def title(text: str) -> Iterator[str]:
    """Lines of a title: its text, and an empty one."""
    yield printable(text)
    yield ""


def section(name: str, beside: str = "") -> Iterator[str]:
    yield ""
    yield click.style(name, bold=True) + (f"   {printable(beside)}" if beside else "")


def paragraph(text: str, first: str = "  ", later: str = "      ") -> Iterator[str]:
    """Further lines begin where no line of ours does: what others have named in it cannot pass for one."""
    yield from textwrap.wrap(
        printable(text), COLUMNS, initial_indent=first, subsequent_indent=later, break_on_hyphens=False
    )


def cut(text: str, width: int = COLUMNS) -> str:
    """Text of at most `width` columns; a longer one ends with dots."""
    return text if len(text) <= width else f"{text[: width - 3]}..."


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], figures: Collection[int] = (), indent: str = "  "
) -> Iterator[str]:
    """Lines of a table; texts that do not fit into the columns are cut at their end, with dots."""
    for line in render_table(header, rows, figures=figures, gap=2).split("\n"):
        yield cut(f"{indent}{line}")


def pairs(rows: Sequence[tuple[str, str]], indent: str = "  ") -> Iterator[str]:
    """Two columns, of which the second is wrapped."""
    width = min(40, max((len(printable(left)) for left, _ in rows), default=0))
    for left, right in rows:
        first = f"{indent}{printable(left):<{width}}  "
        yield from paragraph(right, first, " " * (len(indent) + width + 2)) if right else [first.rstrip()]
