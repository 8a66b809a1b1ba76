"""The splitter of streams into lines."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from kubeapi.errors import Undecodable
from kubeapi.transport import split_lines


def split(*chunks: bytes, max_line_bytes: int = 100) -> list[bytes]:
    async def stream() -> AsyncGenerator[bytes, None]:
        for chunk in chunks:
            yield chunk

    async def main() -> list[bytes]:
        return [line async for line in split_lines(stream(), max_line_bytes)]

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b\nc", b"", b"d\n"], [b"ab", b"cd"]),
        ([b"a\n", b"\n\n", b"b\n"], [b"a", b"b"]),
        ([b"a\nlast"], [b"a", b"last"]),
        ([b"ab", b"\n", b"\ncd\nef", b"\n"], [b"ab", b"cd", b"ef"]),
        ([], []),
    ],
)
def test_lines_do_not_depend_on_how_the_bytes_were_cut(chunks: list[bytes], lines: list[bytes]) -> None:
    assert split(*chunks) == lines


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(Undecodable, match="longer than 100 bytes"):
        split(*[b"x" * 30] * 4)
