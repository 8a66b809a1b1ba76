import asyncio
import json
from datetime import UTC, datetime
from typing import Any

from kubeapi.loop.virtual import run_virtual
from leeward.dashboard.feed import CHUNK_BYTES, MOST_CHANGES, MOST_WAITING, Feed
from leeward.dashboard.frames import Frame

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def read(frame: Frame) -> tuple[str, str, Any]:
    """Event, id and data of a frame."""
    fields = dict(line.split(": ", 1) for line in frame.plain.decode().strip().split("\n"))
    return fields["event"], fields.get("id", ""), json.loads(fields["data"])


def publish(feed: Feed, **rows: object) -> bool:
    return feed.publish(NOW, {"rows": {key: json.dumps(value).encode() for key, value in rows.items()}})


def begun(**rows: object) -> Feed:
    feed = Feed("life")
    publish(feed, **rows)
    return feed


def test_who_comes_first_gets_everything_and_then_what_changes() -> None:
    feed = begun(a=1, b=2)
    reader, (frame,) = feed.open()
    assert read(frame) == (
        "reset",
        "life-1",
        {"id": "life-1", "at": "2026-01-01T00:00:00Z", "more": False, "collections": {"rows": {"a": 1, "b": 2}}},
    )
    assert publish(feed, a=1, c=3)
    event, event_id, data = read(run_virtual(_next(reader)))
    assert (event, event_id, data["set"], data["unset"]) == ("change", "life-2", {"rows": {"c": 3}}, {"rows": ["b"]})


async def _next(reader: Any) -> Frame:
    frame = await reader.next(1)
    assert frame is not None
    return frame


def test_what_is_the_same_is_no_version() -> None:
    feed = begun(a=1)
    assert not publish(feed, a=1)
    _, (frame,) = feed.open()
    assert read(frame)[1] == "life-1"


def test_who_comes_back_gets_what_was_missed_and_no_more() -> None:
    feed = begun(a=1)
    publish(feed, a=2)
    publish(feed, a=2, b=1)
    _, frames = feed.open("life-2")
    assert [read(frame)[2]["set"] for frame in frames] == [{"rows": {"b": 1}}]
    assert feed.open("life-3")[1] == []


def test_who_comes_from_another_life_or_from_too_long_ago_begins_anew() -> None:
    feed = begun(a=0)
    for number in range(MOST_CHANGES + 2):
        publish(feed, a=number + 1)
    for since in ("", "other-3", "life-1", "life-9999999", "life-x", "life"):
        assert [read(frame)[0] for frame in feed.open(since)[1]] == ["reset"], since


def test_a_large_fleet_comes_in_chunks_of_which_only_the_last_says_where_to_go_on() -> None:
    rows = {f"row-{number}": "x" * 1000 for number in range(3 * CHUNK_BYTES // 1000)}
    _, frames = begun(**rows).open()
    assert len(frames) > 2
    assert max(len(frame.plain) for frame in frames) < 2 * CHUNK_BYTES
    told: dict[str, object] = {}
    for index, frame in enumerate(frames):
        event, event_id, data = read(frame)
        is_last = index == len(frames) - 1
        assert (event, event_id, data["more"]) == (
            "change" if index else "reset",
            "life-1" if is_last else "",
            not is_last,
        )
        told |= data["set" if index else "collections"]["rows"]
    assert told == rows


def test_an_empty_fleet_is_told_as_empty() -> None:
    feed = Feed("life")
    feed.publish(NOW, {"clusters": {}, "rows": {}})
    _, (frame,) = feed.open()
    assert read(frame)[2]["collections"] == {"clusters": {}, "rows": {}}


def test_who_comes_before_the_first_version_is_told_it_when_it_is_there() -> None:
    feed = Feed("life")
    reader, frames = feed.open()
    assert frames == []
    publish(feed, a=1)
    assert read(run_virtual(_next(reader)))[0] == "reset"


def test_a_reader_that_does_not_keep_up_is_ended_and_holds_up_nobody() -> None:
    async def story() -> None:
        feed = begun(a=0)
        slow, quick = feed.open()[0], feed.open()[0]
        for number in range(MOST_WAITING + 1):
            publish(feed, a=number + 1)
            assert await quick.next(1) is not None
        assert await slow.next(1) is None
        assert slow.is_ended
        assert not quick.is_ended

    asyncio.run(story())


def test_a_feed_that_is_closed_ends_its_readers() -> None:
    feed = begun(a=1)
    reader, _ = feed.open()
    feed.close()
    assert run_virtual(reader.next(1)) is None
    assert feed.readers == 0


def test_all_there_is_is_made_once_for_all_who_come_until_something_changes() -> None:
    feed = begun(a=1)
    (first,), (second,) = feed.open()[1], feed.open()[1]
    assert first is second
    assert first.packed is second.packed
    publish(feed, a=2)
    (third,) = feed.open()[1]
    assert read(third)[2]["collections"] == {"rows": {"a": 2}}
