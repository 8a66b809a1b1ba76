"""The documentation as a site: gathers all pages, renders those that follow from the code, and builds them strictly.

`python -m tests.site SOURCE` writes the pages; `make docs` then builds them with zensical, which knows of dead links.
A link to a file that is no page becomes the file's name; one to a file that is not there is an error.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import click

from leeward.api.schema import custom_resource_definitions
from leeward.cli.program import VERBS, program

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ELSEWHERE = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "CHANGELOG.md": "changes.md",
    "bench/README.md": "measurements.md",
    "kubeserver/README.md": "kubeserver.md",
    "kubecluster/README.md": "kubecluster.md",
}
"""Pages that stand beside what they are about, and where they are in the site."""

FENCE = re.compile(r"^(```|    )")
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*)\]\((?P<target>[^)\s]+)\)")
DEPTH = 6
"""Depth of the table of a kind's fields; deeper ones are named with their parent."""


class DeadLink(Exception):
    """A page names a file that is not in the repository."""


def pages() -> Mapping[str, str]:
    """The path in the site of each page that is a file, by its path in the repository."""
    own = {
        f"docs/{path.relative_to(DOCS).as_posix()}": path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")
    }
    return {**own, **ELSEWHERE}


def gathered(source: str, text: str, known: Mapping[str, str]) -> str:
    """The page with its links turned to where their targets are in the site. Raises: DeadLink."""
    fenced = False
    lines: list[str] = []
    for line in text.split("\n"):
        fenced = fenced != line.startswith("```")
        lines.append(line if fenced or FENCE.match(line) else LINK.sub(lambda found: _link(source, found, known), line))
    return "\n".join(lines)


def _link(source: str, found: re.Match[str], known: Mapping[str, str]) -> str:
    text, target = found["text"], found["target"]
    if "://" in target or target.startswith(("#", "mailto:")):
        return found[0]
    path, anchor = re.subn(r"#.*", "", target)[0], re.sub(r"^[^#]*", "", target)
    named = os.path.normpath(PurePosixPath(source).parent / path)
    if (ROOT / named).is_dir() and f"{named}/README.md" in known:
        named = f"{named}/README.md"
    if named == "docs/decisions":
        named = "docs/decisions/index.md"
    page = known.get(named)
    if page is not None:
        here = PurePosixPath(known[source]).parent
        return f"[{text}]({os.path.relpath(page, here)}{anchor})"
    if not (ROOT / named).exists():
        raise DeadLink(f"{source}: {target} is not there")
    return text if text == f"`{named}`" else f"{text} (`{named}`)" if named not in text else text


def command_line() -> str:
    """Text that each verb says of itself with `--help`."""
    parts = ["# Command line", "", "What `leeward VERB --help` prints. `kubectl leeward VERB` is the same.", ""]
    for verb in sorted(VERBS, key=lambda each: each.name):
        if not verb.hidden:
            parts += _helps(program, verb.name, "leeward")
    return "\n".join(parts)


def _helps(group: click.Group, name: str, before: str) -> Iterator[str]:
    context = click.Context(group, info_name=before, max_content_width=100, terminal_width=100)
    command = group.get_command(context, name)
    assert command is not None
    within = click.Context(command, info_name=f"{before} {name}", max_content_width=100, terminal_width=100)
    yield from (f"## {before} {name}", "", "```text", command.get_help(within), "```", "")
    if isinstance(command, click.Group):
        for each in command.list_commands(within):
            yield from _helps(command, each, f"{before} {name}")


def kinds() -> Mapping[str, str]:
    """A page for each group of the kinds that Leeward serves, by its path."""
    groups: dict[str, list[Any]] = {}
    for definition in custom_resource_definitions():
        groups.setdefault(definition["spec"]["group"], []).append(definition)
    return {f"reference/{group}.md": _group(group, groups[group]) for group in sorted(groups)}


def _group(group: str, definitions: list[Any]) -> str:
    parts = [f"# {group}", "", "The fields of each kind, as `kubectl explain` tells them.", ""]
    for definition in sorted(definitions, key=lambda each: each["spec"]["names"]["kind"]):
        names = definition["spec"]["names"]
        for version in definition["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            short = ", ".join(f"`{name}`" for name in names.get("shortNames", ()))
            parts += [f"## {names['kind']} {version['name']}", ""]
            parts += [f"{_described(schema)} {definition['spec']['scope']}{f'; short: {short}' if short else ''}.", ""]
            parts += ["| field | type | |", "|---|---|---|"]
            parts += [f"| `{path}` | {kind} | {told} |" for path, kind, told in _fields(schema, "", DEPTH)]
            parts.append("")
    return "\n".join(parts)


def _fields(schema: Mapping[str, Any], path: str, depth: int) -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", ())
    for name, field in sorted(schema.get("properties", {}).items()):
        if not path and name in ("apiVersion", "kind", "metadata"):
            continue
        inner, kind = _inner(field)
        needed = "**required** " if name in required else ""
        yield f"{path}{name}", kind, f"{needed}{_described(field)}{_values(field)}".strip()
        if depth > 1:
            yield from _fields(inner, f"{path}{name}{'[]' if field.get('type') == 'array' else ''}.", depth - 1)


def _inner(field: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The schema of what a field has within, and the field's type in words."""
    match field.get("type"):
        case "array":
            inner, kind = _inner(field.get("items", {}))
            return inner, f"list of {kind}"
        case "object" if isinstance(field.get("additionalProperties"), dict):
            return {}, f"map of {_inner(field['additionalProperties'])[1]}"
        case "object":
            return field, "object"
        case str(kind):
            return {}, f"{kind}, {field['format']}" if "format" in field else kind
        case _:
            return {}, "any"


def _described(field: Mapping[str, Any]) -> str:
    return " ".join(str(field.get("description", "")).split()).replace("|", "\\|").replace("<", "&lt;")


def _values(field: Mapping[str, Any]) -> str:
    values = field.get("enum")
    return f" One of {', '.join(f'`{value}`' for value in values)}." if values else ""


def write(into: Path) -> None:
    """All pages, below a folder that is made anew. Raises: DeadLink."""
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(DOCS, into, ignore=shutil.ignore_patterns("*.md"))
    known = pages()
    texts = {page: gathered(source, (ROOT / source).read_text(), known) for source, page in pages().items()}
    texts |= {"reference/command-line.md": command_line(), **kinds()}
    for page, text in texts.items():
        path = into / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]))
    except DeadLink as error:
        raise SystemExit(f"leeward: {error}") from error
