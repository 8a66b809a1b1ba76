"""Frames that are compressed once are one gzip stream, whichever of them a browser gets, and in whichever order."""

import gzip
import zlib

from hypothesis import given
from hypothesis import strategies as st

from leeward.dashboard.frames import Frame, GzipStream


@given(st.lists(st.binary(max_size=2000), max_size=8), st.lists(st.integers(0, 7), max_size=12))
def test_any_frames_in_any_order_are_one_stream(texts: list[bytes], order: list[int]) -> None:
    frames = [Frame(text) for text in texts]
    sent = [frames[index] for index in order if index < len(frames)]
    stream = GzipStream()
    data = stream.begin() + b"".join(map(stream.part, sent)) + stream.end()
    assert gzip.decompress(data) == b"".join(frame.plain for frame in sent)


def test_what_was_sent_can_be_read_at_once_though_the_stream_goes_on() -> None:
    stream, reading = GzipStream(), zlib.decompressobj(zlib.MAX_WBITS | 16)
    reading.decompress(stream.begin())
    for text in (b"one", b": still here\n\n", b"x" * 300_000):
        assert reading.decompress(stream.part(Frame(text))) == text
