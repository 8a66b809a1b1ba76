"""`leeward snapshot`"""

from pathlib import Path

import click

from kubeapi.named_files import is_standard_output
from leeward.cli.connections import operator_options
from leeward.cli.named_files import OutputFile, write_output
from leeward.cli.output import complain, say, say_next
from leeward.cli.questions import COULD_NOT_LOOK, WELL, AnswerCommand, whole_picture
from leeward.cli.settings import Settings


@click.command(cls=AnswerCommand)
@click.argument("file", type=OutputFile())
@operator_options
@click.pass_obj
def snapshot(settings: Settings, file: Path, kubeconfig: Path | None, context: str) -> int:
    """Write a picture of the control plane into a file, for `--from`.

    It holds clusters, policies, bindings, Works and their statuses. Secrets, the contents of manifests, values of
    overrides, and what applications and members say of themselves are left out. Nothing is changed. `-` is standard
    output.

    Exits 0 when all could be read, 2 when not.
    """
    from leeward.answers.fleet_state import encode_state
    from leeward.operations.sentences import counted

    state = whole_picture(settings, kubeconfig, context, None)
    is_output = is_standard_output(file)
    write_output(file, encode_state(state))
    works = counted(len(state.recorded.works), "Work")
    clusters, bindings = counted(len(state.clusters), "cluster"), counted(len(state.bindings), "binding")
    say(f"{file}: {clusters}, {bindings}, {works}", err=is_output)
    if not is_output:
        say_next(f"leeward what-if --from {file} --fail CLUSTER", f"leeward resilience --from {file}")
    for unseen in state.recorded.unseen:
        complain(f"could not be seen: {unseen}")
    return COULD_NOT_LOOK if state.recorded.unseen else WELL
