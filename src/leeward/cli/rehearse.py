"""`leeward rehearse`"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leeward.app.local import FleetError
from leeward.cli.named_files import InputFile, called, decode_file
from leeward.cli.output import complain, say_coloured
from leeward.cli.questions import FINDINGS, WELL, AnswerCommand, picture_options, rendered, whole_picture
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from leeward.answers.fleet_state import FleetState
    from leeward.sim.rehearsal.rehearsal import RehearsalReport
    from leeward.sim.rehearsal.scenario_file import Scenario

MAX_SCENARIO_BYTES = 4 * 1024**2


@click.command(cls=AnswerCommand)
@click.argument("scenario", type=InputFile())
@click.option("--wide", is_flag=True, help="Print the whole time line.")
@picture_options
@click.pass_obj
def rehearse(
    settings: Settings,
    scenario: Path,
    wide: bool,
    output: str,
    file: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> int:
    """Play faults and changes on a copy of a control plane, and check what is expected.

    SCENARIO is a file of kind Rehearsal (leeward.dev/v1alpha1): what happens to clusters, what people do, and what is
    to hold. The controllers of production run on a copy of the clusters, policies and bindings; twenty minutes take
    seconds. Nothing is changed. What a copy cannot know is in docs/rehearsals.md.

    Exits 0 when all that is expected holds, 1 when not, 2 when it could not be played.
    """
    from leeward.cli.rehearse_text import rehearsal_lines
    from leeward.sim.rehearsal.scenario_file import ScenarioProblem, parse_scenario

    parsed = decode_file(
        scenario, parse_scenario, ScenarioProblem, "docs/rehearsals.md describes the fields", MAX_SCENARIO_BYTES
    )
    state = whole_picture(settings, kubeconfig, context, file)
    report = _play(state, parsed, scenario, quiet=not settings.debug)
    say_coloured(rendered(report, output) if output != "table" else "\n".join(rehearsal_lines(report, wide)))
    for unseen in report.unseen if output != "table" else ():
        complain(f"could not be seen: {unseen}")
    return WELL if report.holds else FINDINGS


def _play(state: "FleetState", parsed: "Scenario", file: Path, *, quiet: bool) -> "RehearsalReport":
    """Raises: FleetError. The log of the copied controllers is of use to developers alone."""
    from leeward.sim.rehearsal.rehearsal import RehearsalFailed, rehearse
    from leeward.sim.rehearsal.scenario_file import ScenarioProblem

    if quiet:
        logging.disable(logging.CRITICAL)
    try:
        return rehearse(state, parsed)
    except (ScenarioProblem, RehearsalFailed) as error:
        raise FleetError(f"{called(file)}: {error}") from error
    finally:
        logging.disable(logging.NOTSET)
