"""Each format that a version has kept is read by this one as it was meant, and none changes without being noticed."""

import base64
import gzip
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from kubeapi.codec import encode, from_wire
from kubeapi.core import Lease
from kubeapi.meta import Manifest
from kubeclient import Client
from leeward import __version__
from leeward.answers.explanation import ApplicationState, explain_binding
from leeward.answers.fleet_state import decode_state, encode_state
from leeward.answers.reading import attention_of
from leeward.answers.timeline import OutageFilter, timeline
from leeward.api.cluster import Cluster
from leeward.api.names import FLAPPING_ANNOTATION, SETTINGS_ANNOTATION, SYSTEM_NAMESPACE
from leeward.app.local.backups import restore
from leeward.app.local.fleet import load_fleet
from leeward.app.local.layout import Layout
from leeward.app.migration.kinds import CONFIG_MAP_MANIFESTS
from leeward.app.migration.record import read_clusters, read_record
from leeward.core.cluster_health.brake import Brake
from leeward.core.cluster_health.flap_damping import parse_flapping
from leeward.core.placement import decide
from leeward.core.settings_in_force import parse_settings, render_settings
from leeward.operations.brake import read_brake, release_brake
from leeward.planning.group_decisions import decide_together
from leeward.planning.recording import RecordedOutcome, decode_recorded, encode_snapshot
from tests.format_shapes import Shapes, breaking_changes, read_shapes, shapes
from tests.recorded_format import RELEASES
from tests.recorded_states import (
    DECISION,
    GROUP,
    SHAPES,
    SNAPSHOT,
    STATES,
    SWITCH,
    recorded_file,
    recorded_objects,
    unpack_backup,
)
from tests.unit.app.test_upgrades import Story, all_outages_are_there, forget_outages, served, written_by

WORLD_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Values that are no object and no list, by their path; an empty one counts as nothing."""
    if isinstance(value, dict):
        parts = [(f".{key}", part) for key, part in cast("dict[str, Any]", value).items()]
    elif isinstance(value, list):
        parts = [(f"[{index}]", part) for index, part in enumerate(cast("list[Any]", value))]
    else:
        yield path, value
        return
    for name, part in parts:
        yield from leaves(part, f"{path}{name}")


def lost(before: bytes, after: bytes) -> dict[str, Any]:
    """Values that were kept, and are not there, or are others, after they were read and written."""
    written = dict(leaves(msgspec.json.decode(after)))
    return {path: value for path, value in leaves(msgspec.json.decode(before)) if written.get(path) != value}


def of_kind(objects: list[Manifest], kind: str) -> list[Manifest]:
    return [each for each in objects if each["kind"] == kind]


def in_a_restored_control_plane(release: str, directory: Path, objects: list[Manifest], story: Story) -> None:
    """Plays the story with the store of that version's backup, and what else it has kept in ConfigMaps."""
    layout = Layout(directory / "fleet")
    restore(layout, "", unpack_backup(release, directory))
    assert load_fleet(layout).timing == "fast"

    async def with_objects(client: Client) -> None:
        for each in of_kind(objects, "ConfigMap"):
            await client.apply(CONFIG_MAP_MANIFESTS, bare(each), SYSTEM_NAMESPACE, field_manager="test")
        await story(client)

    served(layout, with_objects)


def bare(manifest: Manifest) -> Manifest:
    kept = {key: value for key, value in manifest["metadata"].items() if key in ("name", "namespace", "labels")}
    return {**manifest, "metadata": kept}


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_picture_is_read_whole_and_answers(release: str) -> None:
    data = recorded_file(release, SNAPSHOT)
    state = decode_state(data)
    assert lost(data, encode_state(state)) == {}
    [outage] = timeline(state, OutageFilter()).outages
    assert (outage.cluster, outage.running) == ("member1", True)
    [key] = state.bindings
    assert explain_binding(state, key).state is ApplicationState.OUTAGE, "an answer follows from it"


def test_a_decision_is_read_whole_and_decided_again(release: str) -> None:
    data = recorded_file(release, DECISION)
    snapshot, outcome = decode_recorded(data)
    assert outcome is not None
    assert (outcome.targets, outcome.leaves) == ({"member2": 2}, ("member1",))
    assert lost(data, encode_snapshot(snapshot, outcome)) == {}
    assert RecordedOutcome.of(decide(snapshot), outcome.version) == outcome


def test_a_decision_about_a_group_is_read_whole_and_decided_again() -> None:
    data = recorded_file(__version__, GROUP)
    snapshot, outcome = decode_recorded(data)
    assert outcome is not None
    assert (outcome.targets, outcome.held) == ({"member1": 2}, "GroupHeld")
    assert lost(data, encode_snapshot(snapshot, outcome)) == {}
    assert RecordedOutcome.of(decide_together(snapshot), outcome.version) == outcome
    assert RecordedOutcome.of(decide(snapshot), outcome.version) != outcome, "the group decides"


def test_a_brake_that_is_engaged_stays_so_and_can_be_released(release: str, tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        reading = await read_brake(client)
        assert reading.brake == Brake(since=WORLD_BEGAN + timedelta(minutes=21, seconds=40))
        assert reading.message.startswith("3 of 3 clusters look dead")
        await release_brake(client)
        assert (await read_brake(client)).brake == replace(reading.brake, overruled=True)

    in_a_restored_control_plane(release, tmp_path, recorded_objects(release, STATES), story)


def test_what_was_not_watched_is_still_not_watched(release: str) -> None:
    [manifest] = of_kind(recorded_objects(release, STATES), "Lease")
    lease = from_wire(manifest, Lease)
    assert lease.spec.renew_time is not None
    attention = attention_of(lease, lease.spec.renew_time)
    assert attention.is_now
    assert attention.heartbeat == lease.spec.holder_identity
    [gap] = attention.time.gaps
    assert (gap.start, gap.end - gap.start) == (WORLD_BEGAN + timedelta(minutes=1), timedelta(minutes=5, seconds=0.1))
    told = lease.metadata.annotations[SETTINGS_ANNOTATION]
    settings = parse_settings(told)
    assert settings.told, "else forecasts fall back to defaults"
    assert lost(told.encode(), render_settings(settings).encode()) == {}


def test_a_cluster_that_was_lost_not_long_ago_is_remembered(release: str) -> None:
    clusters = [from_wire(each, Cluster) for each in of_kind(recorded_objects(release, STATES), "Cluster")]
    assert [each.name for each in clusters] == ["member1", "member2", "member3"]
    memory = parse_flapping(clusters[0])
    assert memory is not None
    assert (memory.score, memory.at) == (1, WORLD_BEGAN + timedelta(minutes=20))
    assert FLAPPING_ANNOTATION not in clusters[1].metadata.annotations


def test_a_switch_from_karmada_that_was_begun_is_known_with_all_that_it_took_away(release: str, tmp_path: Path) -> None:
    objects = recorded_objects(release, SWITCH)

    async def story(client: Client) -> None:
        record = await read_record(client)
        assert record is not None
        kept = {each["metadata"]["name"]: packed(each) for each in objects}
        assert lost(kept.pop("leeward-adoption"), encode(record)) == {}
        assert record.adopted_at is not None
        assert record.webhooks
        assert record.clusters_service is not None
        clusters = await read_clusters(client, record)
        assert len(kept) == len(clusters) == 3
        for each in clusters:
            assert each.before is not None
            assert each.dependents
            assert lost(kept[f"leeward-adoption.{each.name}"], encode(each)) == {}

    in_a_restored_control_plane(release, tmp_path, objects, story)


def packed(config_map: Manifest) -> bytes:
    return gzip.decompress(base64.b64decode(config_map["binaryData"]["record.json.gz"]))


def test_a_backup_is_put_back_under_a_fleet_that_has_run_on(release: str, tmp_path: Path) -> None:
    layout = written_by(release, tmp_path / "fleet")
    served(layout, forget_outages)
    restore(layout, "", unpack_backup(release, tmp_path))
    served(layout, all_outages_are_there)


def test_what_each_version_has_kept_is_read_as_it_was_meant(release: str) -> None:
    assert breaking_changes(read_shapes(recorded_file(release, SHAPES)), shapes()) == [], (
        "an earlier version has kept this, and it would be read otherwise: leave the field as it is, or give the "
        "format the next number, with a migration in `leeward up` that keeps a copy (decision 91)"
    )


def test_formats_are_those_that_were_recorded_last() -> None:
    kept, now = read_shapes(recorded_file(RELEASES[-1], SHAPES)), shapes()
    changed = {
        path: (kept.get(path), now.get(path)) for path in kept.keys() | now.keys() if kept.get(path) != now.get(path)
    }
    assert changed == {}, (
        f"what is kept has changed since {RELEASES[-1]} was recorded: where that is released, raise the version; then "
        "run `python -m tests.recorded_states`"
    )


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({"a.b": "str"}, {}, ["a.b: is not read any more"]),
        ({"a.b": "str"}, {"a.b": "int"}, ["a.b: was str, and is int"]),
        ({"a.b": "str"}, {"a.b": "!str"}, ["a.b: was str, and is !str"]),
        ({"a.b": "!str"}, {"a.b": "str"}, []),
        ({"a.b": "one of X, Y"}, {"a.b": "one of X, Y, Z"}, []),
        ({"a.b": "one of X, Y"}, {"a.b": "one of X"}, ["a.b: was one of X, Y, and is one of X"]),
        ({"a.b": "one of X"}, {"a.b": "!one of X, Y"}, ["a.b: was one of X, and is !one of X, Y"]),
        ({"a": "list of struct"}, {"a": "list of struct", "a[].c": "!int"}, ["a[].c: must be there, and was not kept"]),
        ({"a": "list of struct"}, {"a": "list of struct", "a[].c": "int"}, []),
        ({"a.x": "str"}, {"a.x": "str", "a.c": "!struct", "a.c.d": "!int"}, ["a.c: must be there, and was not kept"]),
        ({"store#": "1"}, {"store#": "2"}, ["store#: was 1, and is 2"]),
    ],
)
def test_a_change_that_loses_what_was_kept_is_told_from_one_that_adds(
    before: Shapes, now: Shapes, said: list[str]
) -> None:
    assert breaking_changes(before, now) == said
