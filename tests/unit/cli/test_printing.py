import asyncio
import io
import json
import logging
import sys
from datetime import UTC, datetime

import click
import pytest
from rich.console import Console

from kubeapi.core import Taint
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import ObjectMeta
from kubeapi.process import JsonFormatter, KeyValueFormatter
from leeward.api.cluster import Cluster, ClusterSpec, ClusterStatus
from leeward.api.meta import Condition
from leeward.api.work import BindingResource, ResourceBinding, ResourceBindingSpec, TargetCluster
from leeward.app.demo.scene import Scene
from leeward.app.demo.story import CREATED, STOPPED, failover_story
from leeward.cli.demo import is_shown_live
from leeward.cli.demo_live import LiveAudience
from leeward.cli.demo_plain import PlainAudience
from leeward.cli.output import moving
from leeward.cli.parameters import Duration
from leeward.cli.tables import render_table

SCENE = Scene(
    clusters={
        "member1": Cluster(
            metadata=ObjectMeta(name="member1"),
            spec=ClusterSpec(sync_mode="Push", taints=(Taint("cluster.karmada.io/not-ready", "NoSchedule"),)),
            status=ClusterStatus(conditions=(Condition("Ready", "False", "ClusterNotReachable"),)),
        ),
        "member2": Cluster(
            metadata=ObjectMeta(name="member2"),
            spec=ClusterSpec(sync_mode="Push"),
            status=ClusterStatus(conditions=(Condition("Ready", "True", "ClusterReady"),)),
        ),
    },
    binding=ResourceBinding(
        spec=ResourceBindingSpec(
            resource=BindingResource("apps/v1", "Deployment", "nginx"), clusters=(TargetCluster("member2", 3),)
        )
    ),
    deployments={"member1": {"status": {"readyReplicas": 1}}, "member2": {"status": {"readyReplicas": 2}}},
)


def test_columns_are_aligned_and_empty_cells_shown() -> None:
    assert render_table(("NAME", "PORT"), [("member1", "20001"), ("a", "")]) == (
        "NAME      PORT\nmember1   20001\na         -"
    )


@pytest.mark.parametrize(("text", "seconds"), [("2s", 2), ("500ms", 0.5), ("1.5m", 90), ("0s", 0), ("1h30m", 5400)])
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "2", "-1s", "s", "2 s", "2d"])
def test_a_bad_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no duration"):
        Duration().convert(text, None, None)


def test_a_log_line_is_made_of_keys_and_values() -> None:
    record = logging.LogRecord("leeward.x", logging.INFO, "", 1, 'said "%s"', ("hi",), None)
    record.created = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC).timestamp()
    assert KeyValueFormatter().format(record) == (
        'time=2026-01-02T03:04:05.678Z level=info logger=leeward.x message="said \\"hi\\""'
    )


def test_the_trace_of_an_error_follows_its_log_line() -> None:
    try:
        raise ValueError("boom")
    except ValueError:
        record = logging.LogRecord("leeward.x", logging.ERROR, "", 1, "failed", (), sys.exc_info())
    lines = KeyValueFormatter().format(record).splitlines()
    assert lines[0].endswith('level=error logger=leeward.x message="failed"')
    assert lines[-1] == "ValueError: boom"


def test_a_log_line_of_json_is_one_object_with_the_trace_in_it() -> None:
    try:
        raise ValueError("boom\x1b[2J")
    except ValueError:
        record = logging.LogRecord("leeward.x", logging.ERROR, "", 1, 'said "%s"', ("hi\nü",), sys.exc_info())
    record.created = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC).timestamp()
    line = JsonFormatter().format(record)
    assert line.isprintable()
    read = json.loads(line)
    assert read.pop("trace").endswith("ValueError: boom\x1b[2J")
    assert read == {
        "time": "2026-01-02T03:04:05.678Z",
        "level": "error",
        "logger": "leeward.x",
        "message": 'said "hi\nü"',
    }


def test_the_demonstration_is_told_in_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    story = failover_story()
    audience = PlainAudience(story)
    story.begin(CREATED, 10)
    audience.begin(CREATED)
    for sight in story.look(SCENE, 11.5):
        audience.see(sight)
    audience.conclude()
    out = capsys.readouterr().out
    assert out.startswith("created\n  +1.5 s  the scheduler divides 3 replicas: member2:3\n")
    assert out.count("DIFFERS") == 12


def test_without_its_extra_the_demonstration_is_told_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert is_shown_live()
    monkeypatch.setitem(sys.modules, "rich", None)
    assert not is_shown_live()


def test_the_demonstration_is_shown_live() -> None:
    story = failover_story()
    console = Console(file=io.StringIO(), force_terminal=True, width=120, height=50, _environ={})
    with LiveAudience(story, SCENE, console) as audience:
        story.begin(STOPPED, 10)
        audience.begin(STOPPED)
        audience.tick(12.5)
    audience.conclude()
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for text in ("time line", "member1 stopped +2.5 s", "1 when last seen", "■■", "□", "2/3", "DIFFERS"):
        assert text in shown


def test_something_moves_on_a_terminal_while_a_verb_waits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def waits(seconds: float) -> None:
        with moving("asks fleet"):
            await asyncio.sleep(seconds)

    run_virtual(waits(2))
    assert capsys.readouterr() == ("", ""), "no terminal"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run_virtual(waits(0.4))
    assert capsys.readouterr() == ("", ""), "an answer that comes soon"
    run_virtual(waits(3))
    out, err = capsys.readouterr()
    looks = err.split("\r")
    assert out == ""
    assert len({*looks}) > 4
    assert any("asks fleet" in look and "2 s" in look for look in looks)
    assert looks[-1] == "\x1b[K", "nothing is left of it"
