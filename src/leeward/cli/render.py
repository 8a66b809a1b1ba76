"""`leeward render`"""

import difflib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from kubeapi.meta import Manifest
from leeward.app.local import FleetError
from leeward.cli.connections import ask, operator_options, target_of
from leeward.cli.output import complain, say
from leeward.cli.questions import FINDINGS, WELL, AnswerCommand
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from leeward.answers.rendered_copies import Application, RenderedCopy
    from leeward.answers.rendering_inputs import Given


@click.command(cls=AnswerCommand)
@click.argument("resource", metavar="TYPE/NAME")
@click.option("-n", "--namespace", default="default", show_default=True, help="Of the resource, and of files.")
@click.option("--cluster", "clusters", multiple=True, metavar="CLUSTER", help="Only this cluster; can be repeated.")
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE|DIRECTORY|-", help="Manifests, as if they were applied."
)
@click.option("--offline", is_flag=True, help="Take the files alone, and ask no control plane.")
@click.option("--diff", is_flag=True, help="Show the changes to what each cluster has.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="The form.")
@operator_options
@click.pass_obj
def render(
    settings: Settings,
    resource: str,
    namespace: str,
    clusters: Sequence[str],
    files: Sequence[str],
    offline: bool,
    diff: bool,
    output: str,
    kubeconfig: Path | None,
    context: str,
) -> int:
    """Show the manifest that each cluster has, and would have.

    It has its replicas, overrides and marks, as the control plane writes them. Of a cluster that a rollout has not
    reached, both are shown.

    TYPE/NAME is a template (`deploy/web`) or a binding (`rb/web-deployment`). Files stand in for the template, for
    override policies, Clusters and the binding. Values of Secrets are hidden. Scripts and webhooks of interpreters are
    not run. Nothing is changed.

    Exits 0, or 1 when --diff finds a change or an override fails, 2 when it could not look.

    For example `leeward render deploy/web --diff -f overrides/`.
    """
    if offline and not files:
        raise click.UsageError("--offline takes everything from files: name them with -f")
    application = _application(settings, resource, namespace, _given(files, namespace), offline, kubeconfig, context)
    if application.binding is None:
        say("no policy has claimed the template: each cluster is shown with its own replicas", err=True)
    copies = _copies(application, resource, clusters, offline)
    for copy in copies:
        if copy.failure:
            complain(f"{copy.cluster}: not rendered: {copy.failure}")
    _say(copies, output, diff)
    return FINDINGS if any(copy.failure or (diff and copy.is_changed) for copy in copies) else WELL


def _copies(application: "Application", resource: str, named: Sequence[str], offline: bool) -> "list[RenderedCopy]":
    """Raises: FleetError for a cluster that nobody knows; of files that hold no Cluster, each may be one."""
    from leeward.answers.rendered_copies import render_copies, without_secrets

    known = {*application.clusters, *application.works}
    if (known or not offline) and (unknown := [name for name in named if name not in known]):
        choice = ", ".join(sorted(known)) or "none has joined"
        raise FleetError(f"--cluster: there is no cluster {unknown[0]!r}: choose from {choice}")
    copies = [without_secrets(copy) for copy in render_copies(application, named)]
    if not copies:
        raise FleetError(f"{resource} is in no cluster, and none is known: name one with --cluster")
    return copies


def _given(files: Sequence[str], namespace: str) -> "Given":
    """Raises: FleetError that names the file which cannot be read."""
    from kubeapi.codec import DecodeError
    from leeward.answers.rendering_inputs import given_in
    from leeward.lint.files import MAX_FILE_BYTES, STANDARD_INPUT, read_manifests

    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1) if STANDARD_INPUT in files else b""
    found = read_manifests(files, data, namespace)
    if found.faults:
        raise FleetError("\n".join(found.faults))
    try:
        return given_in([each.manifest for each in found.objects])
    except DecodeError as error:
        raise FleetError(str(error)) from error


def _application(
    settings: Settings,
    resource: str,
    namespace: str,
    given: "Given",
    offline: bool,
    kubeconfig: Path | None,
    context: str,
) -> "Application":
    """Raises: FleetError."""
    from leeward.answers.rendering_inputs import application_of, read_application
    from leeward.answers.subjects import asked_of
    from leeward.operations import OperationFailed

    try:
        asked = asked_of(resource, namespace)
        if offline:
            return application_of(given, asked)
    except OperationFailed as error:
        raise FleetError(str(error)) from error
    return ask(target_of(settings, kubeconfig, context), lambda client: read_application(client, given, asked))


def _say(copies: "Sequence[RenderedCopy]", output: str, diff: bool) -> None:
    import msgspec

    if output == "json":
        say(json.dumps(msgspec.to_builtins(copies), indent=2))
    elif diff:
        say(
            "\n".join(line for copy in copies if copy.is_changed and not copy.failure for line in _unified(copy)),
            nl=False,
        )
    else:
        say("---\n".join(document_of(copy) for copy in copies if copy.wanted is not None), nl=False)


def document_of(copy: "RenderedCopy") -> str:
    """YAML of a copy; of one that a rollout has not reached, its manifest now and the one to come."""
    overrides = f", overridden by {', '.join(copy.overrides)}" if copy.overrides else ""
    if not copy.keeps:
        return f"# {copy.cluster}{overrides}\n{_yaml(copy.wanted)}"
    now = f"# {copy.cluster} now, revision {copy.keeps}\n{_yaml(copy.present)}"
    return f"{now}---\n# {copy.cluster} when the rollout reaches it{overrides}\n{_yaml(copy.wanted)}"


def _unified(copy: "RenderedCopy") -> Iterator[str]:
    before, after = _yaml(copy.present).splitlines(), _yaml(copy.wanted).splitlines()
    now, then = (", revision " + copy.keeps, " when the rollout reaches it") if copy.keeps else ("", " then")
    yield from difflib.unified_diff(before, after, f"{copy.cluster} now{now}", f"{copy.cluster}{then}", lineterm="")
    yield ""


def _yaml(manifest: Manifest | None) -> str:
    """The manifest with its fields by name, as kubectl prints them: an order that differs is no change."""
    from kubeapi.codec import render_yaml

    return render_yaml(_by_name(manifest)) if manifest is not None else ""


def _by_name(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _by_name(each) for key, each in sorted(cast(Manifest, value).items())}
    return [_by_name(each) for each in cast(list[Any], value)] if isinstance(value, list) else value
