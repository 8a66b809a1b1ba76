"""No manifest makes lint fail: parts of planted ones are replaced by what nobody expects there."""

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from kubeapi.codec import parse_yaml_documents, render_yaml
from leeward.lint.checking import lint
from leeward.lint.files import read_manifests
from leeward.lint.picture import LintPicture

PLANTED = sorted((Path(__file__).parents[2] / "data/lint").glob("*.yaml"))
JUNK: tuple[Any, ...] = (
    None,
    [],
    {},
    "x",
    "",
    5,
    -1,
    True,
    1.5,
    [None],
    {"a": None},
    ["a", {}],
    {"labels": [1]},
    10**30,
)
ROUNDS = 6
Steps = tuple[str | int, ...]


def paths(value: Any, path: Steps = ()) -> Iterator[Steps]:
    yield path
    members: dict[Any, Any] = {}
    if isinstance(value, dict):
        members = cast(dict[Any, Any], value)
    elif isinstance(value, list):
        members = dict(enumerate(cast(list[Any], value)))
    for step, member in members.items():
        yield from paths(member, (*path, step))


def replace_some(documents: list[Any], drawn: random.Random) -> None:
    for _ in range(drawn.randint(1, 3)):
        below = [path for path in paths(documents) if len(path) > 1]
        *parents, last = drawn.choice(below)
        there: Any = documents
        for step in parents:
            there = there[step]
        there[last] = copy.deepcopy(drawn.choice(JUNK))


def test_no_manifest_makes_it_fail() -> None:
    judged = refused = 0
    for file in PLANTED:
        drawn = random.Random(file.stem)
        for _ in range(ROUNDS):
            documents = parse_yaml_documents(file.read_text())
            replace_some(documents, drawn)
            text = "---\n".join(map(render_yaml, documents))
            found = read_manifests(["-"], text.encode(), "default")
            assert all(fault.startswith("<stdin>") for fault in found.faults)
            refused += len(found.faults)
            judged += lint(LintPicture(found.objects, is_whole=False), "stdin").objects
    assert judged > 600
    assert refused > 60
