"""Options of a verb out of the table of flags, and those of Karmada's that are taken and not used."""

import logging
from collections.abc import Callable
from operator import methodcaller
from typing import Any, TypeVar

import click

from kubeapi.process import LogForm, log_to_stderr
from leeward.app.flags.left_out import LEFT_OUT, OF_ONE, SWITCHES
from leeward.app.flags.table import Component, Flag, FlagProblem, flags_of
from leeward.manager.gates import WITHOUT_EFFECT

log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])


KARMADA_SPELLING: dict[str, Any] = {"token_normalize_func": methodcaller("replace", "_", "-")}
"""Context settings with which `--log_dir` is `--log-dir`: Karmada's flags may be written either way.

Kubernetes: component-base/cli/flag (WordSepNormalizeFunc)."""


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
            verb = _option(flag, flag.default_of(component))(verb)
        return verb

    return decorate


def _option(flag: Flag, default: str) -> Callable[[F], F]:
    keywords: dict[str, Any] = {"type": FlagText(flag), "callback": _collect}
    if flag.is_switch:
        keywords |= {"is_flag": False, "flag_value": "true"}
    if flag.is_list:
        keywords = {"multiple": True, "metavar": "VALUE", "callback": _collect_list(flag)}
    return click.option(f"--{flag.name}", expose_value=False, help=_help(flag, default), **keywords)


def list_option(name: str, **keywords: Any) -> Callable[[F], F]:
    """Adds an option that stands for all that was written when it is written several times, with commas between."""
    return click.option(name, multiple=True, callback=_join, **keywords)


def _join(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> str:
    return ",".join(values)


def left_out_flags(component: str) -> Callable[[F], F]:
    """Adds flags that Karmada's component takes and ours does not use; help and completion do not show them."""

    def decorate(verb: F) -> F:
        verb = logging_format(verb)
        for name in {**LEFT_OUT, **OF_ONE.get(component, {})}:
            keywords: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if name in SWITCHES else {}
            spellings = (*(["-v"] if name == "v" else []), f"--{name}", name.replace("-", "_"))
            verb = click.option(*spellings, hidden=True, callback=_pass_over, expose_value=False, **keywords)(verb)
        return verb

    return decorate


def logging_format(verb: F) -> F:
    """Adds `--logging-format`, which `start_log` follows."""
    return click.option(
        "--logging-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        expose_value=False,
        callback=_keep_logging_format,
        help="Form of the log: key=value, or a JSON object a line.",
    )(verb)


def _keep_logging_format(context: click.Context, _parameter: click.Parameter, value: LogForm) -> None:
    context.meta[_LOG_FORM_KEY] = value


def start_log(context: click.Context) -> None:
    """Logs to standard error from now on; says in one line first which flags were written and are not used."""
    log_to_stderr(context.meta.get(_LOG_FORM_KEY, "text"))
    tell_left_out(context)


def tell_left_out(context: click.Context) -> None:
    """Says in one line of the log which flags were written and are not used."""
    written: list[str] = context.meta.get(_LEFT_OUT_KEY, [])
    if written:
        log.info("not used: %s", "; ".join(f"--{name} ({_WHY[name]})" for name in sorted(written)))


def written_flags(context: click.Context) -> dict[str, str]:
    """The flags that were written on the command line of this verb."""
    return context.meta.setdefault(_KEY, {})


_WHY = {
    **{f"feature-gates={name}": why for name, why in WITHOUT_EFFECT.items()},
    **LEFT_OUT,
    **{name: why for reasons in OF_ONE.values() for name, why in reasons.items()},
}
_KEY, _LEFT_OUT_KEY, _LOG_FORM_KEY = "leeward.flags", "leeward.flags.left-out", "leeward.flags.logging-format"


def _pass_over(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta.setdefault(_LEFT_OUT_KEY, []).append(str(parameter.name).replace("_", "-"))


def _collect(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        written_flags(context)[parameter.opts[0].removeprefix("--")] = value


def _collect_list(flag: Flag) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], None]:
    def collect(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
        if values:
            written_flags(context)[flag.name] = FlagText(flag).convert(",".join(values), parameter, context)
        if flag.name == "feature-gates":
            names = {item.partition("=")[0].strip() for item in ",".join(values).split(",")}
            written = context.meta.setdefault(_LEFT_OUT_KEY, [])
            written += [f"feature-gates={name}" for name in sorted(names & WITHOUT_EFFECT.keys())]

    return collect


def _help(flag: Flag, default: str) -> str:
    return f"{flag.help}  [default: {default}]" if default else flag.help
