"""Proposed commands: each for the control plane that this verb was for, and not for the usual one."""

import shlex

import click

from leeward.cli.settings import Settings

_PROGRAM = "leeward "


def for_same_fleet(step: str) -> str:
    """The step with the options that this verb was given to choose a control plane. One that begins with a command of
    ours is that command, and behind a comma its effect. One of kubectl names the control plane that this verb asks."""
    context = click.get_current_context(silent=True)
    settings = context.find_object(Settings) if context is not None else None
    if context is None or settings is None or not step.startswith((_PROGRAM, "kubectl ")):
        return step
    if step.startswith("kubectl "):
        there = context.params.get("kubeconfig") or (settings.layout.kubeconfig if settings.data_dir else None)
        given = (("--kubeconfig", there), ("--context", context.params.get("context")))
        options = "".join(f" {option} {shlex.quote(str(value))}" for option, value in given if value)
        return f"kubectl{options}{step.removeprefix('kubectl')}"
    command, comma, told = step.removeprefix(_PROGRAM).partition(", ")
    before = f"--data-dir {shlex.quote(settings.data_dir)} " if settings.data_dir else ""
    program = f"kubectl {_PROGRAM}" if settings.is_kubectl_plugin else _PROGRAM
    return f"{program}{before}{command}{_connection(context, command)}{comma}{told}"


def quoted_for_same_fleet(sentence: str) -> str:
    """The sentence, in which commands stand between backquotes."""
    parts = sentence.split("`")
    return "`".join(for_same_fleet(part) if index % 2 else part for index, part in enumerate(parts))


def _connection(context: click.Context, command: str) -> str:
    """Options behind a verb, where it takes them: not where it asks a file, or works on this machine's fleet alone."""
    verb: click.Command | None = context.find_root().command
    for word in command.split():
        verb = verb.get_command(context, word) if isinstance(verb, click.Group) else verb
    parameters = verb.params if verb is not None and " --from " not in command else []
    known = {parameter.name for parameter in parameters}
    given = [(f"--{name}", context.params.get(name)) for name in ("kubeconfig", "context") if name in known]
    return "".join(f" {option} {shlex.quote(str(value))}" for option, value in given if value)
