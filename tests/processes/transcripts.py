"""Transcripts: what a user types, and what must be said to that.

# A remark.
==> app.yaml                      the lines that follow, up to an empty one, become this file
$ kubectl apply -f app.yaml       a command, which must succeed; `$!` one that must fail, `$?` one that may do either
configmap/app created             must be in the output, in this order; `*` stands for anything, blanks for blanks
-- unchanged                      must not be in it
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

COMMAND_SECONDS = 90.0
_PROMPTS = {"$": (0,), "$!": (1,), "$?": (0, 1)}


@dataclass
class Step:
    """A file to write (`command` is empty), or a command with what must and must not be said."""

    line: int
    name: str
    prompt: str = ""
    lines: list[str] = field(default_factory=list[str])


def parse(text: str) -> list[Step]:
    """Raises: ValueError that names the line."""
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        prompt, _, rest = line.partition(" ")
        in_file = bool(steps) and not steps[-1].prompt and (not steps[-1].lines or steps[-1].lines[-1] != "")
        if in_file:
            steps[-1].lines.append(line)
        elif prompt == "==>" or prompt in _PROMPTS:
            steps.append(Step(number, rest, "" if prompt == "==>" else prompt))
        elif line and prompt != "#":
            if not steps:
                raise ValueError(f"line {number} belongs to no command")
            steps[-1].lines.append(line)
    return steps


def play(steps: list[Step], directory: Path, environment: Mapping[str, str]) -> None:
    """Carries out all steps in `directory`. Raises: AssertionError that shows the command and what it said."""
    for step in steps:
        if not step.prompt:
            (directory / step.name).write_text("\n".join(step.lines))
            continue
        done = subprocess.run(
            ["bash", "-c", step.name],
            cwd=directory,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        said = done.stdout
        wrong = [] if min(done.returncode, 1) in _PROMPTS[step.prompt] else [f"it ended with {done.returncode}"]
        wrong += _missing(step.lines, said)
        assert not wrong, f"line {step.line}: $ {step.name}\n{said}\n{'; '.join(wrong)}"


def _missing(expected: list[str], said: str) -> Iterator[str]:
    lines = said.splitlines()
    position = 0
    for wanted in expected:
        if wanted.startswith("-- "):
            if any(_matches(wanted[3:], line) for line in lines):
                yield f"it must not say {wanted[3:]!r}"
            continue
        found = next((at for at in range(position, len(lines)) if _matches(wanted, lines[at])), None)
        if found is None:
            yield f"it does not say {wanted!r}"
        else:
            position = found + 1


def _matches(wanted: str, line: str) -> bool:
    words = [".*".join(map(re.escape, word.split("*"))) for word in wanted.split()]
    return re.search(r"\s+".join(words), line) is not None
