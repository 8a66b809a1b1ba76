"""A real fleet of processes in a directory of its own, driven by the real kubectl and the leeward command."""

import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.kubectl import CommandFailed, Kubectl, needs_kubectl, run_command, told_of

__all__ = ["Fleet", "needs_kubectl", "running_fleet"]


class Fleet(Kubectl):
    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir / "kubeconfig")
        self.data_dir = data_dir

    def leeward(self, *arguments: str, fails: bool = False) -> str:
        """Gives what `leeward ... --data-dir` prints. Fails the test unless it ends as expected."""
        command = [sys.executable, "-m", "leeward.cli", *arguments, "--data-dir", str(self.data_dir)]
        return run_command(command, fails)

    def overview(self) -> str:
        return told_of(lambda: self.leeward("status"))


@contextmanager
def running_fleet(data_dir: Path, *options: str) -> Generator[Fleet]:
    """A fleet with `--timing fast`, which is stopped in the end; without a dashboard unless that is an option.

    Suites run side by side: where another one's fleet was first at a port that was drawn, ports are drawn once more.
    """
    fleet, up = Fleet(data_dir), ("up", "--timing", "fast", "--detach", "--no-dashboard", *options)
    try:
        fleet.leeward(*up)
    except CommandFailed as failed:
        if "address already in use" not in str(failed):
            raise
        shutil.rmtree(data_dir)
        fleet.leeward(*up)
    try:
        yield fleet
    finally:
        fleet.leeward("down")
