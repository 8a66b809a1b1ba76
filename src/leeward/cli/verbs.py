"""Groups of verbs whose members all take the common options; and one that imports a verb only when it is called."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from leeward.cli.examples import with_examples
from leeward.cli.settings import common_options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class VerbGroup(click.Group):
    """A group that takes the common options itself and gives them to each of its verbs."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.params.extend(common_options())

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        cmd.params.extend(common_options())
        super().add_command(cmd, name)


@dataclass(frozen=True, slots=True)
class LazyVerb:
    """A verb that lives in the module of `leeward.cli` with its name, as a command with its name; `group` is the
    heading under which help lists it."""

    name: str
    help: str
    group: str = "Commands"
    hidden: bool = False


class LazyGroup(VerbGroup):
    """Lists its verbs without importing them."""

    def __init__(self, *, verbs: Sequence[LazyVerb], **keywords: Any) -> None:
        super().__init__(**keywords)
        self._verbs = {verb.name: verb for verb in verbs}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._verbs and cmd_name not in self.commands:
            name = cmd_name.replace("-", "_")
            command = with_examples(getattr(import_module(f"leeward.cli.{name}"), name), cmd_name)
            if isinstance(command, VerbGroup):
                self.commands[cmd_name] = command
            else:
                self.add_command(command, cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises: UsageError that names the verbs which may have been meant."""
        asked = args[0]
        if asked not in self._verbs and not asked.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            close = get_close_matches(asked, [verb.name for verb in self._verbs.values() if not verb.hidden])
            meant = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise click.UsageError(f"No such command {asked!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """The verbs, without importing them, and the options."""
        from click.shell_completion import CompletionItem

        verbs = [verb for verb in self._verbs.values() if not verb.hidden and verb.name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(verb.name, help=verb.help) for verb in verbs), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = [verb for verb in self._verbs.values() if not verb.hidden]
        for group in dict.fromkeys(verb.group for verb in shown):
            with formatter.section(group):
                formatter.write_dl([(verb.name, verb.help) for verb in shown if verb.group == group])
