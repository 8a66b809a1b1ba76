"""Files that a user names: another content, and else what they were."""

import os
import stat
import threading
from pathlib import Path

import pytest

from kubeapi.named_files import STANDARD, is_regular, is_standard_output, write_named


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_not_there_is_made_for_its_owner(tmp_path: Path) -> None:
    write_named(tmp_path / "new", b"new")
    assert (tmp_path / "new").read_bytes() == b"new"
    assert mode(tmp_path / "new") == 0o600
    assert os.listdir(tmp_path) == ["new"]


@pytest.mark.parametrize("bits", [0o600, 0o644, 0o660, 0o755])
def test_a_regular_file_keeps_its_permission_bits(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old and longer")
    path.chmod(bits)
    before = path.stat().st_ino
    write_named(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == bits
    assert path.stat().st_ino != before, "replaced in one step"
    assert os.listdir(tmp_path) == ["file"]
    write_named(path, b"secret", private=True)
    assert mode(path) == bits & 0o600


@pytest.mark.parametrize("depth", [1, 2])
def test_a_link_stays_and_its_target_gets_the_content(tmp_path: Path, depth: int) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "target"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to("there/target")
    for number in range(1, depth):
        (tmp_path / f"link{number}").symlink_to(link.name)
        link = tmp_path / f"link{number}"
    write_named(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert mode(target) == 0o640
    assert os.listdir(target.parent) == ["target"]


def test_a_link_to_what_is_not_there_makes_that(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_named(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_another_name_of_the_same_file_sees_the_content_too(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"old and longer")
    (tmp_path / "other").hardlink_to(tmp_path / "one")
    write_named(tmp_path / "one", b"new")
    assert (tmp_path / "other").read_bytes() == b"new"


def test_a_fifo_is_written_through(tmp_path: Path) -> None:
    fifo, received = tmp_path / "fifo", list[bytes]()
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: received.append(fifo.read_bytes()), daemon=True)
    reader.start()
    write_named(fifo, b"through" * 100_000)
    reader.join(30)
    assert received == [b"through" * 100_000]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert os.listdir(tmp_path) == ["fifo"]


def test_a_device_stays_a_device_and_its_error_is_told() -> None:
    write_named(Path("/dev/null"), b"gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(OSError, match="No space left"):
        write_named(Path("/dev/full"), b"too much")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_descriptor_of_a_regular_file_is_written_through(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as opened:
        write_named(Path(f"/dev/fd/{opened.fileno()}"), b"through")
        assert os.fstat(opened.fileno()).st_ino == path.stat().st_ino, "who has it open has what is in the file"
    assert path.read_bytes() == b"through"


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_goes_on_where_it_is(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    print("before")
    write_named(Path(name), b"content\n")
    print("after")
    assert is_standard_output(Path(name))
    assert capfd.readouterr().out == "before\ncontent\nafter\n"


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_named(tmp_path, b"new")
    assert os.listdir(tmp_path) == []


def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_named(tmp_path / "loop", b"new")


def test_only_a_file_and_a_link_to_one_are_regular(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("file")
    assert is_regular(tmp_path / "file")
    assert is_regular(tmp_path / "link")
    assert not any(map(is_regular, (STANDARD, Path("/dev/null"), tmp_path, tmp_path / "absent")))
