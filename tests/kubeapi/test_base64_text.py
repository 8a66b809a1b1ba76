"""Base64 as Go reads it."""

import base64

import pytest

from kubeapi.base64_text import read_base64, write_base64

LONG = bytes(range(256))


@pytest.mark.parametrize(
    "text",
    [
        base64.encodebytes(LONG).decode(),
        base64.encodebytes(LONG).decode().replace("\n", "\r\n"),
        "\n\r" + write_base64(LONG),
        write_base64(LONG).replace("==", "\n=\r\n=\n"),
    ],
)
def test_line_ends_count_for_nothing(text: str) -> None:
    assert read_base64(text) == LONG


def test_what_is_left_over_in_the_last_letter_counts_for_nothing() -> None:
    assert write_base64(read_base64("YR==")) == "YQ=="


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("YQ", 0),
        ("YWJj\nYQ\n", 6),
        ("YW Jj", 2),
        ("YWJj\n?WJj", 5),
        ("=QQQ", 0),
        ("Y===", 1),
        ("YQ=x", 3),
        ("YQ=\n", 4),
        ("YQ==\nYQ==", 5),
        ("YQ==\t", 4),
        ("é===", 0),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, place: int) -> None:
    with pytest.raises(ValueError, match=f"^illegal base64 data at input byte {place}$"):
        read_base64(text)
