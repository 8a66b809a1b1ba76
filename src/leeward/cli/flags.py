"""Options of a verb out of the table of flags."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from leeward.app.flags.table import Component, Flag, FlagProblem, flags_of

F = TypeVar("F", bound=Callable[..., Any])


class FlagText(click.ParamType[str]):
    """The text of a flag, checked by reading it."""

    name = "value"

    def __init__(self, flag: Flag) -> None:
        self._flag = flag

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            self._flag.read(str(value))
        except FlagProblem as error:
            raise click.UsageError(str(error), ctx) from error
        return str(value)


def component_flags(component: Component) -> Callable[[F], F]:
    """Adds the component's flags to a verb, which is given those that were written, by name, as `flags`."""

    def decorate(verb: F) -> F:
        for flag in reversed(flags_of(component)):
            verb = _option(flag)(verb)
        return verb

    return decorate


def _option(flag: Flag) -> Callable[[F], F]:
    keywords: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if flag.is_switch else {}
    return click.option(
        f"--{flag.name}", type=FlagText(flag), callback=_collect, expose_value=False, help=_help(flag), **keywords
    )


def written_flags(context: click.Context) -> dict[str, str]:
    """The flags that were written on the command line of this verb."""
    return context.meta.setdefault(_KEY, {})


_KEY = "leeward.flags"


def _collect(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        written_flags(context)[parameter.opts[0].removeprefix("--")] = value


def _help(flag: Flag) -> str:
    return f"{flag.help}  [default: {flag.default}]" if flag.default else flag.help
