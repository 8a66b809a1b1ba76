"""Console blocks of a page: their commands, run as a user would type them, and what the page shows of their output.

    ```console
    $ kubectl get clusters
    NAME      VERSION   MODE   READY   AGE
    ...
    ```

`...` stands for any lines. Times, dates and ages, and names that are made anew each time (UUIDs, ports), are blanked on
both sides, and the width of columns does not count. A block of YAML that begins with a comment of its file's name is
that file. What has to happen between two blocks, and is no reader's business, stands in a comment, `<!-- console`.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^(?:```|<!-- )console\n(?P<body>.*?)^(?:```|-->)$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```yaml\n# (?P<name>[\w-]+\.yaml)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
READING = re.compile(
    r"(kubectl( --context \S+| -n \S+)? (get|describe|explain)"
    r"|leeward (status|explain|timeline|what-if|resilience|lint|orphans|brake status|rollout status))\b"
)
"""Commands that only look: each is asked again until it shows what the page shows."""
PATIENCE_SECONDS = 120
TIMES = re.compile(
    r"\d{1,2} \w{3} \d{4}|\d{4}-\d\d-\d\d(?!-)|\d\d:\d\d:\d\d|\+?\b\d+(\.\d+)? (s|min|h|d)\b( \d+ (s|min|h)\b)?"
    r"|\b\d+(\.\d+)?(ms|s|m|h|d)(\d+(s|m|h))?\b"
)
MADE_ANEW = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|(?<=127\.0\.0\.1:)\d+")


@dataclass(frozen=True)
class Step:
    """A command, and the lines that the page shows of its output."""

    command: str
    shown: tuple[str, ...]


def steps_of(text: str) -> Iterator[Step]:
    for block in BLOCK.finditer(text):
        for part in re.split(r"^\$ ", block["body"], flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            yield Step(command, tuple(shown))


def files_of(text: str) -> Mapping[str, str]:
    """The files that a page shows, by name."""
    return {found["name"]: found["body"] for found in FILE.finditer(text)}


def blanked(line: str, home: str = "~") -> str:
    return " ".join(TIMES.sub("T", MADE_ANEW.sub("N", line.replace(home, "~"))).split())


def shows(shown: Sequence[str], seen: Sequence[str]) -> bool:
    """Tells whether the lines are those of the page, where `...` stands for any number of lines."""
    if not shown:
        return not seen
    if shown[0] == "...":
        return any(shows(shown[1:], seen[index:]) for index in range(len(seen) + 1))
    return bool(seen) and shown[0] == seen[0] and shows(shown[1:], seen[1:])


class Terminal:
    """A shell in a folder of its own, which is its home, with the programs of this environment."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._exports: list[str] = []

    def type(self, step: Step) -> None:
        """Fails where what is seen is not, within the patience, what is shown."""
        until = time.monotonic() + PATIENCE_SECONDS
        shown = [line for line in map(blanked, step.shown) if line]
        while True:
            printed = self._run(step.command)
            seen = [line for line in (blanked(line, str(self.home)) for line in printed.splitlines()) if line]
            if shows(shown, seen):
                return
            if not READING.match(step.command) or time.monotonic() > until:
                raise AssertionError(f"$ {step.command}\nshown:\n{chr(10).join(step.shown)}\nseen:\n{printed}")
            time.sleep(0.5)

    def _run(self, command: str) -> str:
        if command.startswith("export "):
            self._exports.append(command)
            return ""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        source = {name: os.environ[name] for name in ("PYTHONPATH", "PYTHONPYCACHEPREFIX") if name in os.environ}
        return subprocess.run(
            ["bash", "-c", "; ".join([*self._exports, command])],
            cwd=self.home,
            env={"HOME": str(self.home), "PATH": path, "LC_ALL": "C.UTF-8", "COLUMNS": "100", **source},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
        ).stdout
