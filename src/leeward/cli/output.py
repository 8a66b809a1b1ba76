"""Output to the terminal: the one place where text goes out, so that nothing that others have named acts on it.

Line ends in `say` are ours: what others have named is made one line where it is put into a sentence or a table
(`tables.printable`). In a complaint they are not, so its further lines are marked, and none passes for one of ours.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import click

from kubeapi.text import shown, shown_lines
from leeward.cli.proposals import for_same_fleet

FIRST_TICK_SECONDS, TICK_SECONDS = 0.5, 0.25
"""Time after which a wait is shown, and after which it is shown anew."""
_LINE_START = "\r\x1b[K"


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    click.echo(shown_lines(text), err=err, nl=nl)


def say_line(text: str) -> None:
    """Says one line, whatever is in it."""
    click.echo(shown(text))


def say_aside(sentence: str) -> None:
    """Says it to who watches: it is no part of the output, and nothing that reads that sees it."""
    if sys.stderr.isatty():
        say(sentence, err=True)


@contextmanager
def moving(sentence: str) -> Generator[None, None, None]:
    """Shows on the terminal of who watches that something still happens, and for how long; then takes it away.

    It is for waits in a running event loop.
    """
    if not sys.stderr.isatty():
        yield
        return
    from asyncio import get_running_loop

    loop = get_running_loop()
    began, shown_once = loop.time(), False

    def tick() -> None:
        nonlocal handle, shown_once
        shown_once, seconds = True, loop.time() - began
        dots = "." * (1 + int(seconds / TICK_SECONDS) % 3)
        click.echo(f"{_LINE_START}{shown(sentence)} {dots:<3} {seconds:.0f} s", err=True, nl=False)
        handle = loop.call_later(TICK_SECONDS, tick)

    handle = loop.call_later(FIRST_TICK_SECONDS, tick)
    try:
        yield
    finally:
        handle.cancel()
        if shown_once:
            click.echo(_LINE_START, err=True, nl=False)


def say_next(*steps: str) -> None:
    """Says the next commands, with their effects."""
    say_aside(f"next: {'; '.join(map(for_same_fleet, steps))}")


def complain(problem: str) -> None:
    first, *more = shown_lines(problem).split("\n")
    click.echo("\n".join([f"leeward: {first}", *(f"  | {line.strip()}" for line in more)]), err=True)


def say_coloured(text: str, *, err: bool = False) -> None:
    """Says lines that `text_lines` has coloured and made printable. On a terminal, and unless NO_COLOR is set."""
    click.echo(text, err=err, color=False if os.environ.get("NO_COLOR") else None)
