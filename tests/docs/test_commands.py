"""Each `leeward` command that a page names exists, with its options."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from leeward.cli.program import program

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
NAMED = re.compile(
    r"`(?:kubectl )?leeward ([^`\n]+)`|^ {4}(?:\$ )?(?:\.venv/bin/|kubectl )?leeward (.+)$|^\$ leeward (.+)$",
    re.MULTILINE,
)
HELP = {"--help", "-h"}


def commands_of(text: str) -> Iterator[str]:
    for found in NAMED.finditer(text):
        command = next(group for group in found.groups() if group)
        yield re.split(r" {2,}| #| \| | > |\\$", command)[0].strip()


def problem_of(command: str) -> str:
    """Says what is wrong with the command; empty when nothing is."""
    words = shlex.split(command.replace("...", ""))
    group: click.Command = program
    context = click.Context(program)
    while isinstance(group, click.Group) and words and not words[0].startswith("-"):
        for name in words[0].split("|"):
            if group.get_command(context, name) is None:
                return f"no verb {name}" if name.islower() else ""
        group, words = group.get_command(context, words[0].split("|")[0]) or group, words[1:]
    known = HELP | {
        name for parameter in (*group.params, *program.params) for name in parameter.opts + parameter.secondary_opts
    }
    unknown = [word for word in words if word.startswith("--") and word.split("=")[0].strip(".,") not in known]
    return f"no option {unknown[0]}" if unknown else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_exist(page: Path) -> None:
    told = {command: problem_of(command) for command in commands_of(page.read_text())}
    assert {command: problem for command, problem in told.items() if problem} == {}


def test_what_does_not_exist_is_found() -> None:
    assert problem_of("sttatus -o json") == "no verb sttatus"
    assert problem_of("drain member1 --budgte 5") == "no option --budgte"
    assert problem_of("member stop member1") == ""
