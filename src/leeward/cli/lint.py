"""`leeward lint`"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubeapi.named_files import STANDARD
from leeward.app.local import FleetError
from leeward.cli.connections import Target, ask, target_of
from leeward.cli.output import complain, say_coloured
from leeward.cli.questions import COULD_NOT_LOOK, FINDINGS, WELL, AnswerCommand, picture_in, rendered, source_options
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from kubeclient import Client
    from leeward.answers.fleet_state import FleetState
    from leeward.lint.findings import LintReport
    from leeward.lint.objects import LintObject
    from leeward.lint.picture import LintPicture


@click.command(cls=AnswerCommand)
@click.argument("files", nargs=-1, metavar="[FILE|DIRECTORY|-]...", type=click.Path(allow_dash=True, path_type=str))
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml", "sarif"]), default="text", help="The form.")
@click.option("--ignore", "ignored", multiple=True, metavar="LW...,...", help="Rules whose findings are not told.")
@click.option(
    "-n", "--namespace", default="default", show_default=True, help="Of manifests in files that name no namespace."
)
@source_options
@click.pass_obj
def lint(
    settings: Settings,
    files: Sequence[str],
    output: str,
    ignored: Sequence[str],
    namespace: str,
    file: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> int:
    """Say why a failover would not fire, or not help.

    Manifests in files and directories are looked at by themselves; with --from, --kubeconfig or --data-dir, as if
    they were applied to that control plane. Without files, the control plane is looked at. Nothing is changed.
    docs/lint.md lists the rules; the annotation leeward.dev/lint-ignore=LW003 on an object ignores one.

    Exits 0 when there are no errors and no warnings, 1 when there are some, 2 when something could not be read.
    """
    from leeward.lint.checking import lint as check

    if STANDARD in (file, kubeconfig) and str(STANDARD) in files:
        raise FleetError("standard input can be one file only: name the manifests, or what they are held against")
    rules, unseen = _rules(ignored), list[str]()
    picture, asked = _picture(settings, files, namespace, file, kubeconfig, context, unseen)
    report = check(picture, asked, rules, unseen)
    _say(report, output)
    if report.unseen:
        return COULD_NOT_LOOK
    return FINDINGS if report.needs_somebody else WELL


def _rules(ignored: Sequence[str]) -> frozenset[str]:
    """Raises: FleetError for an id that no rule has."""
    from leeward.lint.rule_table import RULES_BY_ID

    ids = frozenset(part.strip() for text in ignored for part in text.split(",") if part.strip())
    if unknown := sorted(ids - RULES_BY_ID.keys()):
        raise click.UsageError(f"--ignore {unknown[0]!r}: there is no such rule; there are {', '.join(RULES_BY_ID)}")
    return ids


def _picture(
    settings: Settings,
    files: Sequence[str],
    namespace: str,
    file: Path | None,
    kubeconfig: Path | None,
    context: str,
    unseen: list[str],
) -> "tuple[LintPicture, str]":
    """Picture that is looked at, and how it is called. Raises: FleetError."""
    from leeward.lint.picture import LintPicture, objects_of

    given = _manifests(files, namespace, unseen)
    if files and file is None and kubeconfig is None and not context and not settings.data_dir:
        return LintPicture(given, is_whole=False), _named(files)
    if file is not None:
        state, live = picture_in(file, kubeconfig, context), list["LintObject"]()
    else:
        target = target_of(settings, kubeconfig, context)
        state, live, missed = ask(target, lambda client: _read(client, target))
        unseen += missed
    unseen += state.recorded.unseen
    present = [*objects_of(state), *live]
    if files:
        present = [each.unasked() for each in present]
    picture = LintPicture(
        [*present, *given], state, is_whole=not files and not unseen, contents=bool(files) or file is None
    )
    return picture, f"{_named(files)} on {state.control_plane}" if files else state.control_plane


def _manifests(files: Sequence[str], namespace: str, unseen: list[str]) -> "list[LintObject]":
    from leeward.lint.files import MAX_FILE_BYTES, STANDARD_INPUT, read_manifests

    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1) if STANDARD_INPUT in files else b""
    found = read_manifests(files, data, namespace)
    unseen += found.faults
    for passed in found.passed_over:
        complain(f"{passed}: passed over, it holds no manifest")
    return found.objects


async def _read(client: "Client", target: Target) -> "tuple[FleetState, list[LintObject], list[str]]":
    from kubeapi.loop import SystemClock
    from leeward.answers.reading import read_fleet
    from leeward.lint.live import read_objects

    state = await read_fleet(client, SystemClock(), target.name)
    found, missed = await read_objects(client, state)
    return state, found, missed


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def _say(report: "LintReport", output: str) -> None:
    from leeward.cli.lint_text import lint_lines
    from leeward.lint.sarif import render_sarif

    match output:
        case "text":
            say_coloured("\n".join(lint_lines(report)))
        case "sarif":
            say_coloured(json.dumps(render_sarif(report), indent=2))
        case _:
            say_coloured(rendered(report, output))
