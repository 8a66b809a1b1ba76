"""`leeward orphans`: what is shown of Works whose binding is gone."""

import pytest

from leeward.cli import orphans
from leeward.core.execution.claims import Owner
from leeward.operations.orphan_works import OrphanWork
from leeward.operations.orphans import Findings
from leeward.runtime.identity import Key

WORK = OrphanWork("m1", Key("karmada-es-m1", "web-5f"), "uid-1", "7", (Owner("default", "web-deployment"),), ())


def test_works_are_shown_with_the_binding_that_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    orphans._show(Findings((), (), {}, (WORK,)))  # pyright: ignore[reportPrivateUsage]
    told = capsys.readouterr().out
    assert "no orphans" not in told
    (row,) = (line for line in told.splitlines() if line.startswith("m1"))
    assert row.split() == ["m1", "karmada-es-m1/web-5f", "ResourceBinding", "default/web-deployment", "uid-1"]


def test_nothing_is_said_to_be_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    orphans._show(Findings((), (), {}))  # pyright: ignore[reportPrivateUsage]
    assert capsys.readouterr().out == "no orphans\n"
