"""Settings that every verb is told, before or after its name: `--data-dir` and `--debug`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from leeward.app.local import Layout

DATA_DIR_VARIABLE = "LEEWARD_DATA_DIR"
DEFAULT_DATA_DIR = "~/.leeward"


@dataclass(slots=True)
class Settings:
    """Filled in while the command line is parsed; the last mention wins. `is_kubectl_plugin`: kubectl has called."""

    data_dir: str = ""
    debug: bool = False
    is_kubectl_plugin: bool = False

    @property
    def names_data_dir(self) -> bool:
        """Tells whether somebody chose the directory, and did not only get the usual one."""
        return bool(self.data_dir or os.environ.get(DATA_DIR_VARIABLE))

    @property
    def layout(self) -> "Layout":
        from leeward.app.local import Layout

        chosen = self.data_dir or os.environ.get(DATA_DIR_VARIABLE) or DEFAULT_DATA_DIR
        return Layout(Path(os.path.abspath(os.path.expanduser(chosen))))


def common_options() -> list[click.Parameter]:
    """The options that every verb has."""
    return [
        click.Option(
            ["--data-dir"],
            metavar="DIR",
            expose_value=False,
            callback=_take_data_dir,
            help=f"Where the fleet is kept.  [default: ${DATA_DIR_VARIABLE}, or {DEFAULT_DATA_DIR}]",
        ),
        click.Option(
            ["--debug"], is_flag=True, expose_value=False, callback=_take_debug, help="Show where an error comes from."
        ),
    ]


def _take_data_dir(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        if not value:
            raise click.BadParameter("it is empty", context, parameter)
        context.ensure_object(Settings).data_dir = value


def _take_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Settings).debug = True
