"""Files that are replaced in one step."""

from pathlib import Path

from kubeapi.files import write_file


def test_a_file_is_replaced_in_one_step_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_file(path, "old")
    write_file(path, b"new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]
