"""`leeward demo`: the walkthrough of the failover articles, on a fleet of its own that is gone afterwards."""

import asyncio
import shutil
import signal
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import click

from kubeapi.loop import Randomness
from leeward.app.demo.scene import Scene
from leeward.app.demo.stage import play
from leeward.app.demo.story import Story, failover_story
from leeward.app.local import FleetError, Layout
from leeward.app.local.fleet import DEFAULT_MEMBERS
from leeward.app.local.planning import UpRequest
from leeward.app.local.starting import start_fleet, stop_fleet
from leeward.cli.interrupts import interrupt_on_termination
from leeward.cli.output import say


@click.command()
@click.option("--keep", is_flag=True, help="Keep the data directory, with the logs of all components.")
def demo(keep: bool) -> None:
    """Watch a cluster die and its applications move.

    Starts a fleet of its own in a temporary directory, lets member1 die and come back, and takes about 40 seconds.
    Exits non-zero when a step does not end as expected. With the extra `leeward[demo]`, a terminal shows it as
    a picture.
    """
    interrupt_on_termination()
    layout = Layout(Path(tempfile.mkdtemp(prefix="leeward-demo-")))
    story = failover_story()
    try:
        _play(layout, story)
    finally:
        _clean_up(layout, keep=keep)
    if not story.is_as_expected:
        raise FleetError("what was seen is not what was expected")


def _play(layout: Layout, story: Story) -> None:
    scene = Scene()
    say("starting a control plane and three member clusters (--timing fast)")
    start_fleet(layout, UpRequest(DEFAULT_MEMBERS, timing="fast"), Randomness(), say)
    if is_shown_live():
        from leeward.cli.demo_live import LiveAudience

        with LiveAudience(story, scene) as audience:
            asyncio.run(play(layout, story, scene, audience))
    else:
        from leeward.cli.demo_plain import PlainAudience

        audience = PlainAudience(story)
        asyncio.run(play(layout, story, scene, audience))
    audience.conclude()


def is_shown_live() -> bool:
    """Tells whether there is a terminal, and the library that the extra `demo` installs."""
    return sys.stdout.isatty() and find_spec("rich") is not None


def _clean_up(layout: Layout, *, keep: bool) -> None:
    """Cleans up without being interrupted: no process may be left behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        stop_fleet(layout)
    finally:
        if keep:
            say(f"kept: {layout.root}")
        else:
            shutil.rmtree(layout.root, ignore_errors=True)
