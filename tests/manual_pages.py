"""Manual pages of the program and of each verb: python -m tests.manual_pages DIRECTORY

Whoever packages Leeward puts them into share/man/man1. They have the content of `--help`, in the order of man-pages(7).
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from leeward import __version__
from leeward.cli.examples import EXAMPLES
from leeward.cli.program import program


def man_pages(
    command: click.Command, parent: click.Context | None = None, name: str = "leeward"
) -> Iterator[tuple[str, str]]:
    """File names and texts of the pages of a command and of all verbs below it; hidden ones have no examples."""
    with click.Context(command, parent=parent, info_name=name) as context:
        yield f"{context.command_path.replace(' ', '-')}.1", _page(command, context)
        if isinstance(command, click.Group):
            for verb in command.list_commands(context):
                found = command.get_command(context, verb)
                if found is not None and found.epilog:
                    yield from man_pages(found, context, verb)


def _page(command: click.Command, context: click.Context) -> str:
    title = context.command_path.replace(" ", "-")
    lines = [f'.TH "{title.upper()}" "1" "" "Leeward {__version__}" "Leeward"']
    lines += [".SH NAME", f"{_text(title)} \\- {_text(command.get_short_help_str(200).rstrip('.'))}"]
    usage = " ".join(command.collect_usage_pieces(context))
    lines += [".SH SYNOPSIS", f".B {_text(context.command_path)}", _text(usage)]
    lines += [".SH DESCRIPTION", *_paragraphs(command.help or "")]
    options = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    lines += [".SH OPTIONS", *(line for names, told in options for line in (".TP", f".B {_text(names)}", _text(told)))]
    if isinstance(command, click.Group):
        verbs = sorted({path.split()[0] for path in EXAMPLES}) if context.parent is None else command.commands
        lines += [".SH SEE ALSO", ", ".join(_text(f"{title}-{verb}(1)") for verb in verbs)]
    if command.epilog:
        lines += [".SH EXAMPLES", ".nf", *(_text(line[2:]) for line in command.epilog.splitlines()[2:]), ".fi"]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text; one that begins with a backspace keeps its lines."""
    for part in text.strip().split("\n\n"):
        if part.startswith("\b"):
            yield from (".nf", *(_text(line) for line in part.splitlines()[1:]), ".fi")
        else:
            yield from (".PP", _text(" ".join(part.split())))


def _text(text: str) -> str:
    """Text for roff: a backslash and a hyphen are themselves, and no line is a request."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in man_pages(program):
        (directory / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
