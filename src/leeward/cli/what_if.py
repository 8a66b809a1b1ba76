"""`leeward what-if`"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leeward.app.local import FleetError
from leeward.cli.named_files import InputFile, decode_file
from leeward.cli.output import say
from leeward.cli.parameters import Duration
from leeward.cli.questions import FINDINGS, WELL, AnswerCommand, picture_options, say_answer, whole_picture
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from leeward.answers.fleet_state import BindingName, FleetState
    from leeward.api.work import Binding

MAX_POLICY_BYTES = 16 * 1024**2


class Delay(Duration):
    """A duration, with or without a plus sign."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return super().convert(str(value).removeprefix("+"), param, ctx)


@click.command(cls=AnswerCommand)
@click.option("--fail", "fails", multiple=True, metavar="CLUSTER,...", help="Clusters, or region=, zone=, provider=.")
@click.option("--drain", "drains", multiple=True, metavar="CLUSTER,...", help="Clusters that are drained.")
@click.option("--at", type=Delay(), default="0s", help="When, from now on: +10m.  [default: at once]")
@click.option("--recover-after", type=Duration(), help="When what has failed answers again.  [default: never]")
@click.option(
    "--apply",
    "files",
    multiple=True,
    type=InputFile(),
    help="Policies that are applied; templates beside them are left out.",
)
@click.option("--scale", "scales", multiple=True, metavar="TYPE/NAME=N", help="An application with other replicas.")
@click.option("-n", "--namespace", default="default", show_default=True, help="Of what is scaled.")
@click.option("--cluster-failure-threshold", type=Duration(), help="With this flag of the control plane.")
@click.option("--failover-eviction-timeout", type=Duration(), help="With this flag of the control plane.")
@click.option("--wide", is_flag=True, help="List all applications.")
@picture_options
@click.pass_obj
def what_if(
    settings: Settings,
    fails: Sequence[str],
    drains: Sequence[str],
    at: float,
    recover_after: float | None,
    files: Sequence[Path],
    scales: Sequence[str],
    namespace: str,
    cluster_failure_threshold: float | None,
    failover_eviction_timeout: float | None,
    wide: bool,
    output: str,
    file: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> int:
    """Say what would happen if clusters failed, were drained, or if policies were others.

    For every application: where it goes, what does not fit and why, what is held, when, and what is deleted on return.
    Instants count from the first sign of a failure. Nothing is changed.

    Exits 0 when all of it fits, 1 when something does not or is held, 2 when it could not look.
    """
    from leeward.answers.imagined import ImaginedChange, select_clusters
    from leeward.answers.what_if import what_if as answer_what_if
    from leeward.cli.what_if_text import what_if_lines
    from leeward.operations import OperationFailed

    _require_question(fails, (drains, files, scales), recover_after)
    state = whole_picture(settings, kubeconfig, context, file)
    try:
        failing, drained = select_clusters(state, fails, "--fail"), select_clusters(state, drains, "--drain")
        bindings = {**_applied(state, files), **_scaled(state, scales, namespace)}
    except OperationFailed as error:
        raise FleetError(str(error)) from error
    clocks = (cluster_failure_threshold, failover_eviction_timeout)
    told = answer_what_if(state, ImaginedChange(failing, drained, at, recover_after, bindings, *clocks))
    say_answer(state, told, output, what_if_lines(told, wide))
    return FINDINGS if told.wanting else WELL


def _require_question(fails: Sequence[str], others: Sequence[Sequence[object]], recover_after: float | None) -> None:
    """Raises: FleetError where nothing is asked."""
    if not (fails or any(others)):
        raise FleetError("nothing is asked: give --fail CLUSTER, --drain CLUSTER, --apply FILE or --scale TYPE/NAME=N")
    if recover_after is not None and not fails:
        raise click.UsageError("--recover-after: nothing fails; give --fail CLUSTER")


def _applied(state: "FleetState", files: Sequence[Path]) -> "Mapping[BindingName, Binding]":
    """Raises: FleetError, OperationFailed."""
    from kubeapi.codec import parse_yaml
    from kubeapi.untrusted import mapping_in
    from leeward.answers.imagined import imagine_policies, is_beside_policies

    def read(data: bytes) -> list[dict[str, object]]:
        if manifests := list(parse_yaml(data)):
            return manifests
        raise ValueError("it holds no manifest")

    found = [decode_file(file, read, ValueError, "give a file of policies", MAX_POLICY_BYTES) for file in files]
    manifests = [manifest for manifests in found for manifest in manifests]
    changed: Mapping[BindingName, Binding] = imagine_policies(state, manifests) if files else {}
    if beside := [manifest for manifest in manifests if is_beside_policies(manifest)]:
        names = (f"{each['kind']} {mapping_in(each, 'metadata').get('name', '')}".rstrip() for each in beside)
        say(f"--apply: left out, since only policies are imagined: {', '.join(names)}", err=True)
    return changed


def _scaled(state: "FleetState", scales: Sequence[str], namespace: str) -> "Mapping[BindingName, Binding]":
    """Raises: OperationFailed."""
    from leeward.answers.imagined import imagine_scale
    from leeward.answers.subjects import binding_asked_of
    from leeward.operations import OperationFailed

    changed: dict[BindingName, Binding] = {}
    for text in scales:
        resource, equals, number = text.rpartition("=")
        if not equals or not number.isdecimal() or int(number) > 2**31 - 1:
            raise OperationFailed(f"--scale {text!r}: write TYPE/NAME=REPLICAS, as in deploy/web=20")
        changed |= imagine_scale(state, binding_asked_of(state, resource, namespace), int(number))
    return changed
