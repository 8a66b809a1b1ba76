"""`leeward member`: members come and go, and die in five ways, one command each."""

from collections.abc import Callable

import click

from kubeapi.loop import Randomness
from leeward.app.local import Layout, members
from leeward.app.local.fleet import MemberRequest
from leeward.app.local.members import Part
from leeward.cli.interrupts import interrupt_on_termination
from leeward.cli.output import say, say_next
from leeward.cli.parameters import Duration, NewMember
from leeward.cli.settings import Settings
from leeward.cli.verbs import VerbGroup

name_argument = click.argument("name")
only_option = click.option(
    "--only",
    type=click.Choice(["apiserver", "agent"]),
    help="Only one of the two processes of a Pull member.  [default: both]",
)


_LOOKS = ("leeward status", "leeward timeline")


@click.group(cls=VerbGroup)
def member() -> None:
    """Add and remove members, and let them die in five ways."""


@member.command()
@click.argument("request", type=NewMember(), metavar="NAME[=push|pull]")
@click.pass_obj
def add(settings: Settings, request: MemberRequest) -> None:
    """Start a member and join it, or let one of the fleet join again that has left."""
    interrupt_on_termination()
    ready = members.add_member(settings.layout, request, Randomness())
    say(f"{request.name} has joined" + ("" if ready else "; it is not ready yet, see `leeward status`"))
    say_next("leeward status", f"leeward member stop {request.name}, which kills it")


@member.command()
@name_argument
@click.option("--force", is_flag=True, help="Give up what runs in a member that is dead.")
@click.pass_obj
def remove(settings: Settings, name: str, force: bool) -> None:
    """Take a member out of the fleet, and delete its data."""
    members.remove_member(settings.layout, name, force=force)
    say(f"{name} has left; its data is deleted")
    say_next("leeward status")


@member.command()
@name_argument
@only_option
@click.pass_obj
def stop(settings: Settings, name: str, only: Part | None) -> None:
    """Kill a member: connections are refused."""
    _change(members.kill, settings.layout, name, only, "stopped")
    _say_what_ends(f"start {name}{_only(only)}")


@member.command()
@name_argument
@only_option
@click.pass_obj
def start(settings: Settings, name: str, only: Part | None) -> None:
    """Start a member that was stopped."""
    _change(members.revive, settings.layout, name, only, "running")
    say_next(*_LOOKS)


@member.command()
@name_argument
@only_option
@click.pass_obj
def pause(settings: Settings, name: str, only: Part | None) -> None:
    """Freeze a member: connections hang."""
    _change(members.pause, settings.layout, name, only, "paused")
    _say_what_ends(f"resume {name}{_only(only)}")


@member.command()
@name_argument
@only_option
@click.pass_obj
def resume(settings: Settings, name: str, only: Part | None) -> None:
    """Thaw a member that was paused."""
    _change(members.resume, settings.layout, name, only, "running")
    say_next(*_LOOKS)


@member.command()
@name_argument
@click.pass_obj
def unready(settings: Settings, name: str) -> None:
    """Let a member's readyz answer 500."""
    members.make_unready(settings.layout, name)
    say(f"{name} reports that it is not ready")
    _say_what_ends(f"ready {name}")


@member.command()
@name_argument
@click.pass_obj
def ready(settings: Settings, name: str) -> None:
    """Let a member's readyz answer ok again."""
    members.make_ready(settings.layout, name)
    say(f"{name} reports that it is ready")
    say_next(*_LOOKS)


@member.command()
@name_argument
@click.pass_obj
def stall(settings: Settings, name: str) -> None:
    """Let reads and writes of a member hang, while its readyz answers ok."""
    members.stall(settings.layout, name)
    say(f"{name} says that it is ready, and serves nothing")
    _say_what_ends(f"serve {name}")


@member.command()
@name_argument
@click.pass_obj
def serve(settings: Settings, name: str) -> None:
    """Let a member that was stalled serve again."""
    members.serve(settings.layout, name)
    say(f"{name} serves again")
    say_next(*_LOOKS)


@member.command()
@name_argument
@click.option("--latency", type=Duration(), required=True, metavar="DURATION", help="2s, 500ms; 0s ends it.")
@click.pass_obj
def slow(settings: Settings, name: str, latency: float) -> None:
    """Let every answer of a member come later."""
    members.slow_down(settings.layout, name, latency)
    say(f"{name} answers {latency:g}s late" if latency else f"{name} answers at once")
    if latency:
        _say_what_ends(f"slow {name} --latency 0s")
    else:
        say_next(*_LOOKS)


def _change(
    change: Callable[[Layout, str, Part | None], None], layout: Layout, name: str, only: Part | None, state: str
) -> None:
    change(layout, name, only)
    say(f"{name}{f' ({only})' if only else ''}: {state}")


def _only(only: Part | None) -> str:
    return f" --only {only}" if only else ""


def _say_what_ends(fault: str) -> None:
    say_next(*_LOOKS, f"leeward member {fault}, which ends it")
