"""One process of the suite, which can be killed, frozen, and started again with the same arguments."""

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

STOP_SECONDS = 10.0
REAP_SECONDS = 60.0
"""Seconds that the machine may take to end what has been killed."""


@dataclass
class Program:
    name: str
    command: Sequence[str]
    log: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **self.environment}
            )

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(REAP_SECONDS)

    def stop(self) -> None:
        """Asks it to end, and waits. Frozen ones are thawed first."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def told(self) -> str:
        """Log so far; it may end in the middle of a line."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def last_words(self) -> str:
        return f"===== {self.name}\n{self.told()[-2000:]}"
