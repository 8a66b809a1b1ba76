"""The question before an irreversible step."""

import sys

import click

from leeward.app.local import FleetError


def is_confirmed(question: str, *, yes: bool) -> bool:
    """Asks on a terminal, unless `yes`. Raises: FleetError where nobody can be asked."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise FleetError("without a terminal nobody can be asked: add --yes to do it")
    return click.confirm(question)
