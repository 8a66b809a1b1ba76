"""Verbs whose work cannot be taken back ask on a terminal, and need `--yes` without one."""

from pathlib import Path

import pytest

from tests.verbs import call_verb


def test_nobody_is_asked_without_a_terminal_and_not_about_a_file_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def run(*arguments: object) -> tuple[int, str, str]:
        return call_verb(capsys, *arguments)

    (backup := tmp_path / "backup.tar").touch()
    where = ("--data-dir", tmp_path / "new")
    assert run("restore", tmp_path / "none", *where) == (1, "", f"leeward: {tmp_path / 'none'} does not exist\n")
    code, out, err = run("restore", backup, *where)
    assert (code, out, err) == (1, "", "leeward: without a terminal nobody can be asked: add --yes to do it\n")
