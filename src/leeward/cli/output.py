"""Output to the terminal: the one place where text goes out, so that nothing that others have named acts on it.

Line ends in `say` are ours: what others have named is made one line where it is put into a sentence or a table
(`tables.printable`). In a complaint they are not, so its further lines are marked, and none passes for one of ours.
"""

import os
import sys

import click

from kubeapi.text import shown, shown_lines
from leeward.cli.proposals import for_same_fleet


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    click.echo(shown_lines(text), err=err, nl=nl)


def say_line(text: str) -> None:
    """Says one line, whatever is in it."""
    click.echo(shown(text))


def say_aside(sentence: str) -> None:
    """Says it to who watches: it is no part of the output, and nothing that reads that sees it."""
    if sys.stderr.isatty():
        say(sentence, err=True)


def say_next(*steps: str) -> None:
    """Says what may come next: commands with what they do."""
    say_aside(f"next: {'; '.join(map(for_same_fleet, steps))}")


def complain(problem: str) -> None:
    first, *more = shown_lines(problem).split("\n")
    click.echo("\n".join([f"leeward: {first}", *(f"  | {line.strip()}" for line in more)]), err=True)


def say_coloured(text: str, *, err: bool = False) -> None:
    """Says what `text_lines` has coloured and made printable. On a terminal, and unless NO_COLOR is set."""
    click.echo(text, err=err, color=False if os.environ.get("NO_COLOR") else None)
