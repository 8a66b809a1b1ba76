"""The log of SQLite, in both orders of bytes: what is the end of it, and what is damage with something behind it."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from kubeserver.store.journal import check_journal
from kubeserver.store.medium import MediumFailed

PAGE = 512
LITTLE, BIG = 0x377F0682, 0x377F0683


def log(magic: int, commits: Sequence[bool], salts: tuple[int, int] = (11, 22)) -> bytearray:
    """A log with a frame for each of `commits`, True where a transaction ends there, with checksums as SQLite's."""
    order = ">" if magic == BIG else "<"

    def add(data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
        words = struct.unpack(f"{order}{len(data) // 4}I", data)
        first, second = sums
        for index in range(0, len(words), 2):
            first = (first + words[index] + second) % 2**32
            second = (second + words[index + 1] + first) % 2**32
        return first, second

    head = struct.pack(">6I", magic, 3007000, PAGE, 0, *salts)
    sums = add(head, (0, 0))
    content = bytearray(head + struct.pack(">2I", *sums))
    for number, ends in enumerate(commits):
        start = struct.pack(">2I", number + 1, number + 1 if ends else 0)
        page = bytes([0x80 + number]) * PAGE
        sums = add(page, add(start, sums))
        content += start + struct.pack(">2I", *salts) + struct.pack(">2I", *sums) + page
    return content


def spoilt(content: bytearray, frame: int) -> bytes:
    """Gives the content with a byte turned round in the page of a frame."""
    content[32 + frame * (24 + PAGE) + 24 + 100] ^= 0xFF
    return bytes(content)


def check(folder: Path, content: bytes) -> str:
    """Tells what is said of it; nothing when it is well."""
    (folder / "store.db-wal").write_bytes(content)
    try:
        check_journal(folder / "store.db", "; call somebody")
    except MediumFailed as failed:
        return str(failed)
    return ""


@pytest.mark.parametrize("magic", [LITTLE, BIG])
def test_a_whole_log_is_well_and_damage_with_transactions_behind_it_is_counted(tmp_path: Path, magic: int) -> None:
    commits = [True, False, True, True, True]
    assert check(tmp_path, bytes(log(magic, commits))) == ""
    lost = f"{tmp_path}/store.db-wal is damaged: %d transactions behind the damage would be lost; call somebody"
    assert check(tmp_path, spoilt(log(magic, commits), 0)) == lost % 3
    assert check(tmp_path, spoilt(log(magic, commits), 1)) == lost % 2
    assert check(tmp_path, spoilt(log(magic, commits), 2)) == lost % 2
    assert check(tmp_path, spoilt(log(magic, commits), 3)) == lost % 1
    assert check(tmp_path, spoilt(log(magic, commits), 4)) == "", "that is what a power cut leaves"


def test_the_last_frame_counts_when_it_is_there_as_a_whole(tmp_path: Path) -> None:
    content = spoilt(log(LITTLE, [True, True]), 0)
    assert "1 transactions" in check(tmp_path, content)
    assert check(tmp_path, content[:-1]) == ""


def test_what_is_no_log_or_has_no_whole_head_is_not_looked_at(tmp_path: Path) -> None:
    check_journal(tmp_path / "store.db", "")
    content = spoilt(log(LITTLE, [True, True, True]), 0)
    for length in (0, 31, 32):
        assert check(tmp_path, content[:length]) == ""
    for place in (0, 4, 24, 28):
        other = bytearray(content)
        other[place] ^= 0xFF
        assert check(tmp_path, bytes(other)) == "", "SQLite does not read it either"


def test_frames_of_an_earlier_log_are_nothing_that_is_lost(tmp_path: Path) -> None:
    new, old = log(LITTLE, [True]), log(LITTLE, [True] * 4, salts=(33, 44))
    assert check(tmp_path, bytes(new + old[len(new) :])) == ""
