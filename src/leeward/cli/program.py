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

LOCAL, OPERATE, ASK = "A fleet on this machine", "Operate", "Ask (nothing is changed)"
INSTALL, COMPONENTS, OTHER = "Install, join and switch", "Components (in the foreground)", "Other"
"""Headings under which help lists the verbs."""

VERBS = (
    LazyVerb("up", "Start a control plane and member clusters.", LOCAL),
    LazyVerb("down", "Stop everything that runs.", LOCAL),
    LazyVerb("member", "Add and remove members, and let them die in five ways.", LOCAL),
    LazyVerb("logs", "Print the log of a component.", LOCAL),
    LazyVerb("demo", "Watch a cluster die and its applications move.", LOCAL),
    LazyVerb("dashboard", "Show the fleet on a page, as it changes.", LOCAL),
    LazyVerb("status", "Show what is down and what is wrong first, then clusters and components.", OPERATE),
    LazyVerb("drain", "Move everything out of a cluster, gracefully.", OPERATE),
    LazyVerb("cordon", "Place nothing new in a cluster.", OPERATE),
    LazyVerb("uncordon", "Take back a cordon or a drain.", OPERATE),
    LazyVerb("taint", "Add and remove taints of a cluster.", OPERATE),
    LazyVerb("confirm", "Accept that a cluster was rebuilt under its name.", OPERATE),
    LazyVerb("brake", "Show or release the brake on evictions.", OPERATE),
    LazyVerb("rollout", "Show, pause, approve or roll back a change that goes from stage to stage.", OPERATE),
    LazyVerb("orphans", "List what runs in members that a restored control plane has forgotten.", OPERATE),
    LazyVerb("backup", "Copy all objects into a file, while everything runs.", OPERATE),
    LazyVerb("restore", "Put back what was backed up.", OPERATE),
    LazyVerb("standby", "Keep a fresh copy of a control plane, for `leeward take-over`.", OPERATE),
    LazyVerb("take-over", "Make this copy of a control plane the hub.", OPERATE),
    LazyVerb("explain", "Say why an application is where it is, what holds it, and what happens next.", ASK),
    LazyVerb("what-if", "Say what would happen if clusters failed, were drained, or if policies were others.", ASK),
    LazyVerb("resilience", "Say for each possible loss whether the rest can run everything, worst first.", ASK),
    LazyVerb("lint", "Say why a failover would not fire, or not help.", ASK),
    LazyVerb("render", "Show the manifest that each cluster has, and would have.", ASK),
    LazyVerb(
        "timeline",
        "Tell the outages of clusters: what left, what was held, how long it took; and the turns of rollouts.",
        ASK,
    ),
    LazyVerb("snapshot", "Write a picture of the control plane into a file, for `--from`.", ASK),
    LazyVerb("rehearse", "Play faults and changes on a copy of a control plane, and check what is expected.", ASK),
    LazyVerb("replay", "Decide a recorded decision again, with its reasons.", ASK),
    LazyVerb("init", "Install Leeward's kinds and rights into a control plane.", INSTALL),
    LazyVerb("deinit", "Take Leeward's kinds, with all their objects, and its rights out of a control plane.", INSTALL),
    LazyVerb("adopt", "Take over a control plane that Karmada has run.", INSTALL),
    LazyVerb("hand-back", "Give a control plane that was adopted back to Karmada.", INSTALL),
    LazyVerb(
        "join", "Join a cluster: from now on the control plane watches it and places applications there.", INSTALL
    ),
    LazyVerb("unjoin", "Let a Push cluster leave, and take back what was placed there.", INSTALL),
    LazyVerb("token", "Make, list and delete the tokens with which clusters register.", INSTALL),
    LazyVerb(
        "register", "Get an identity for the agent of a cluster, which joins in Pull mode when it starts.", INSTALL
    ),
    LazyVerb("unregister", "Let a Pull cluster leave.", INSTALL),
    LazyVerb("serve", "Run controller manager and scheduler in one process.", COMPONENTS),
    LazyVerb("controller-manager", "Run the controllers beside an API server, but for the scheduler.", COMPONENTS),
    LazyVerb("scheduler", "Run the scheduler beside an API server.", COMPONENTS),
    LazyVerb("webhook", "Run the admission webhook in the foreground.", COMPONENTS),
    LazyVerb(
        "cluster-proxy",
        "Serve the API of a kube-apiserver and clusters/NAME/proxy, which it cannot serve itself.",
        COMPONENTS,
    ),
    LazyVerb("agent", "Run the agent of a Pull member.", COMPONENTS),
    LazyVerb("descheduler", "Give replicas that find no node back to the scheduler, for another cluster.", COMPONENTS),
    LazyVerb(
        "scheduler-estimator",
        "Run the estimator of a member: it says how many replicas fit on its nodes.",
        COMPONENTS,
    ),
    LazyVerb("apiserver", "Run the API server alone, in the foreground.", COMPONENTS),
    LazyVerb("completion", "Print the script that completes verbs and options in a shell.", OTHER),
    LazyVerb("version", "Print the version, what it was built from, and what it runs on.", OTHER),
    LazyVerb("run", "Run one component of a fleet in the foreground.", hidden=True),
)

EXAMPLES = """\b
Examples:
  leeward up                                    three member clusters on this machine
  leeward status                                who serves, and what is wrong
  leeward explain deploy/web -n shop            why an application is where it is
  leeward what-if --fail member1                what an outage would do
  leeward drain member1 --budget 5              move everything out, five at a time
"""
USAGE_ERROR = 2
"""Exit code of a call that names no verb, or an option or argument that cannot be."""

program = LazyGroup(
    verbs=VERBS,
    help="Leeward: a control plane for many Kubernetes clusters that keeps applications running when one dies.",
    epilog=EXAMPLES,
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
    from kubeclient.kubeconfig import KubeconfigError
    from leeward.app.local import FleetError

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
