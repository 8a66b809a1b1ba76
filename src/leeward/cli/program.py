"""The program `leeward`: its verbs, and how errors end it."""

import atexit
import gc
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from leeward import __version__
from leeward.cli.output import complain
from leeward.cli.settings import Settings
from leeward.cli.verbs import LazyGroup, LazyVerb

VERBS = (
    LazyVerb("up", "Start a control plane and member clusters."),
    LazyVerb("down", "Stop everything that runs."),
    LazyVerb("status", "Show what is wrong first, then clusters and components."),
    LazyVerb("explain", "Say why an application is where it is, what holds it, and what happens next."),
    LazyVerb("what-if", "Say what would happen if clusters failed, were drained, or if policies were others."),
    LazyVerb("resilience", "Say for each possible loss whether the rest can take over, worst first."),
    LazyVerb("lint", "Say why a failover would not fire, or not help."),
    LazyVerb("timeline", "Tell the outages of clusters: what left, what was held, and how long it took."),
    LazyVerb("snapshot", "Write a picture of the control plane into a file, for `--from`."),
    LazyVerb("rehearse", "Play faults and changes on a copy of a control plane, and check what is expected."),
    LazyVerb("replay", "Decide a recorded decision again, with its reasons."),
    LazyVerb("logs", "Print what a component logged."),
    LazyVerb("cordon", "Place nothing new in a cluster."),
    LazyVerb("uncordon", "Take back a cordon or a drain."),
    LazyVerb("taint", "Add and remove taints of a cluster."),
    LazyVerb("drain", "Move everything out of a cluster, gracefully."),
    LazyVerb("confirm", "Accept that a cluster was rebuilt under its name."),
    LazyVerb("brake", "Show or release the brake on evictions."),
    LazyVerb("orphans", "List what runs in members that a restored control plane has forgotten."),
    LazyVerb("member", "Add and remove members, and let them die in five ways."),
    LazyVerb("dashboard", "Show the fleet on a page, as it changes."),
    LazyVerb("demo", "Watch a cluster die and its applications move."),
    LazyVerb("backup", "Copy all objects into a file, while everything runs."),
    LazyVerb("restore", "Put back what was backed up."),
    LazyVerb("init", "Install Leeward's kinds and rights into a control plane."),
    LazyVerb("adopt", "Take over a control plane that Karmada has run."),
    LazyVerb("hand-back", "Give a control plane that was adopted back to Karmada."),
    LazyVerb("deinit", "Take Leeward's kinds, with all their objects, and its rights out of a control plane."),
    LazyVerb("join", "Join a cluster: from now on the control plane watches it and places applications there."),
    LazyVerb("token", "Make, list and delete the tokens with which clusters register."),
    LazyVerb("register", "Get an identity for the agent of a cluster, which joins in Pull mode when it starts."),
    LazyVerb("unregister", "Let a Pull cluster leave."),
    LazyVerb("unjoin", "Let a Push cluster leave, and take back what was placed there."),
    LazyVerb("webhook", "Run the admission webhook in the foreground."),
    LazyVerb(
        "cluster-proxy",
        "Serve the API of a kube-apiserver and clusters/NAME/proxy, which it cannot serve itself.",
    ),
    LazyVerb("apiserver", "Run the API server alone, in the foreground."),
    LazyVerb("controller-manager", "Run the controllers beside an API server, but for the scheduler."),
    LazyVerb("scheduler", "Run the scheduler beside an API server."),
    LazyVerb("serve", "Run controller manager and scheduler in one process."),
    LazyVerb("agent", "Run the agent of a Pull member."),
    LazyVerb("descheduler", "Give replicas that find no node back to the scheduler, for another cluster."),
    LazyVerb(
        "scheduler-estimator", "Run the estimator of a member: it says how many replicas its nodes have room for."
    ),
    LazyVerb("completion", "Print the script that completes verbs and options in a shell."),
    LazyVerb("version", "Print the version, what it was built from, and what it runs on."),
    LazyVerb("run", "Run one component of a fleet in the foreground.", hidden=True),
)

USAGE_ERROR = 2
"""Exit code of a call that names no verb, or an option or argument that cannot be."""

program = LazyGroup(
    verbs=VERBS,
    help="Leeward: a control plane for many Kubernetes clusters that keeps applications running when one dies.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, prog_name="leeward", message="%(prog)s %(version)s")(program)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the program and exits: 0 when all went well, 1 with one line on stderr when not, 2 when it was called
    wrongly, 130 on Ctrl-C."""
    _run(arguments, Settings(), "leeward")


def kubectl_plugin(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the program as `kubectl leeward`: a verb asks what kubectl would, and not the fleet in the data
    directory."""
    _run(arguments, Settings(is_kubectl_plugin=True), "kubectl leeward")


def _run(arguments: Sequence[str] | None, settings: Settings, name: str) -> NoReturn:
    atexit.register(gc.freeze)  # nothing is looked through any more for what could be given back
    try:
        code = program.main(arguments, prog_name=name, standalone_mode=False, obj=settings)
    except click.Abort:
        complain("interrupted")
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except Exception as error:
        if settings.debug:
            traceback.print_exc()
        complain(_describe(error, hint="" if settings.debug else " (add --debug to see where)"))
        sys.exit(USAGE_ERROR if isinstance(error, click.UsageError) else 1)
    sys.exit(code if isinstance(code, int) else 0)


def _describe(error: Exception, hint: str) -> str:
    """Words that the user reads; an error that no user can cause is named with its type."""
    from leeward.app.local.errors import FleetError
    from leeward.client.kubeconfig import KubeconfigError

    match error:
        case click.UsageError():
            where = error.ctx.command_path if error.ctx is not None else "leeward"
            return f"{error.format_message().rstrip('.')} (see `{where} --help`)"
        case click.ClickException():
            return error.format_message()
        case FleetError() | KubeconfigError():
            return str(error)
        case PermissionError():
            return f"permission denied: {error.filename}"
        case _:
            return f"unexpected {type(error).__name__}: {error}{hint}"
