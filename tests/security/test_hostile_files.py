"""Files that a pipeline looks at with `leeward lint`: a pull request of somebody whom nobody knows.

The attacker has a directory: links that lead to devices without end, files that are large, YAML whose aliases stand for
millions of values.

It must not fill the memory of the pipeline or keep it waiting; the other files are looked at, and each is told of.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leeward.lint.files import MAX_FILE_BYTES, read_manifests

FINE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fine}\n"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "fine.yaml").write_text(FINE)
    return tmp_path


@pytest.mark.parametrize("device", ["/dev/zero", "pipe"])
def test_a_link_that_leads_to_no_file_is_told_and_not_read(directory: Path, device: str) -> None:
    os.mkfifo(directory / "pipe")
    (directory / "endless.yaml").symlink_to(device)
    command = [sys.executable, "-m", "leeward.cli", "lint", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2, done
    assert "endless.yaml: is no file; take it away" in " ".join(done.stdout.split())
    assert "1 object;" in done.stdout


def test_large_files_and_aliases_are_told_and_the_others_are_read(directory: Path) -> None:
    (directory / "large.yaml").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    (directory / "full.yaml").write_bytes(b"#" * MAX_FILE_BYTES)
    (directory / "bomb.yaml").write_text(BOMB)
    (directory / "gone.yaml").symlink_to("nowhere")
    found = read_manifests([str(directory)], b"", "default")
    assert [each.manifest["metadata"]["name"] for each in found.objects] == ["fine"]
    told = {Path(fault.partition(":")[0]).name: fault for fault in found.faults}
    assert told.keys() == {"large.yaml", "bomb.yaml", "gone.yaml"}
    assert told["large.yaml"].endswith(f"{MAX_FILE_BYTES + 1} bytes, and {MAX_FILE_BYTES} at most are read; split it")
    assert "its aliases written out" in told["bomb.yaml"]


def test_a_device_that_is_named_is_read_no_further_than_a_file() -> None:
    found = read_manifests(["/dev/zero"], b"", "default")
    assert found.faults == [f"/dev/zero: more than {MAX_FILE_BYTES} bytes; split it"]
