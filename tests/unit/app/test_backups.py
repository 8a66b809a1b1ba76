"""A restore looks at its file before it touches anything, and does all of it or nothing."""

import asyncio
import io
import os
import socket
import stat
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeapi.files import write_file
from kubeapi.loop.supervisor import Supervisor
from kubeserver.store import Store
from kubeserver.store import backup as copies
from kubeserver.store.backup import Summary
from kubeserver.store.medium import MediumFailed
from kubeserver.store.sqlite import SqliteMedium
from leeward.app.config import SIGNING_KEY_FILE
from leeward.app.local import processes
from leeward.app.local.archive import STORE
from leeward.app.local.backups import back_up, restore
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, Member, load_fleet, save_fleet
from leeward.app.local.layout import Layout
from leeward.app.local.restore_directory import unpacking
from leeward.app.local.starting import start_components
from tests.ports import free_port

MEMBERS = (Member("member1", "push", 20_001), Member("member2", "push", 20_002))
Tree = dict[str, bytes]


async def _fill(path: Path, note: bytes, *keys: str) -> None:
    async with Supervisor() as supervisor:
        store = await Store.open(SqliteMedium(path), supervisor)
        for key in ("//configmaps/default/note", *keys):
            await store.put(key, None, lambda revision: note)
        await store.close()


def make_fleet(root: Path, note: bytes, *joined: str, port: int = 20_000) -> Layout:
    """A fleet that does not run, with objects and keys of its own. `joined` are the names of its Clusters."""
    layout = Layout(root)
    for directory in (layout.control_plane, *(layout.member(member.name) for member in MEMBERS)):
        directory.mkdir(parents=True)
        clusters = joined if directory == layout.control_plane else ()
        asyncio.run(_fill(directory / STORE, note, *(f"/cluster.karmada.io/clusters//{name}" for name in clusters)))
        write_file(directory / SIGNING_KEY_FILE, b"key of " + note)
    for name in ("ca.crt", "ca.key"):
        write_file(layout.pki / name, b"authority")
    save_fleet(layout, LocalFleet(port, MEMBERS))
    return layout


def tree(root: Path) -> Tree:
    """All files but the lock, which says nothing."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.name.endswith("lock")]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return make_fleet(tmp_path / "fleet", b"now")


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    target = tmp_path / "backup.tar"
    back_up(make_fleet(tmp_path / "before", b"before"), "", target)
    return target


def cut_off(backup: Path, length: int) -> Path:
    cut = backup.with_name("cut.tar")
    cut.write_bytes(backup.read_bytes()[:length])
    return cut


def without(backup: Path, name: str) -> Path:
    less = backup.with_name("less.tar")
    with tarfile.open(backup) as whole, tarfile.open(less, "w") as target:
        for entry in whole:
            if entry.name != name:
                target.addfile(entry, whole.extractfile(entry))
    return less


def test_a_whole_backup_is_put_back_with_its_key(layout: Layout, backup: Path) -> None:
    assert restore(layout, "", backup).objects == 1
    assert (layout.control_plane / SIGNING_KEY_FILE).read_bytes() == b"key of before"
    assert b"before" in (layout.control_plane / STORE).read_bytes()


def test_a_backup_goes_through_a_fifo_and_comes_back_through_one(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    fifo, received = tmp_path / "fifo", list[bytes]()
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: received.append(fifo.read_bytes()), daemon=True)
    reader.start()
    before = make_fleet(tmp_path / "before", b"before")
    back_up(before, "", fifo)
    reader.join(30)
    writer = threading.Thread(target=lambda: fifo.write_bytes(received[0]), daemon=True)
    writer.start()
    assert restore(layout, "", fifo).objects == 1
    writer.join(30)
    assert (layout.control_plane / SIGNING_KEY_FILE).read_bytes() == b"key of before"
    assert fifo.is_fifo()
    assert not list(tmp_path.glob("leeward-restore-*")), "keys are left nowhere"


def test_a_backup_comes_from_standard_input(
    layout: Layout, backup: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(layout, "", Path("-"))
    written = capfdbinary.readouterr().out
    for content, key in ((backup.read_bytes(), b"key of before"), (written, b"key of now")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        restore(layout, "", Path("-"))
        assert (layout.control_plane / SIGNING_KEY_FILE).read_bytes() == key
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"none")))
    with pytest.raises(FleetError, match="is no backup"):
        restore(layout, "", Path("-"))


def test_a_link_to_a_backup_to_be_stays_a_link(layout: Layout, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/backup.tar")
    back_up(layout, "", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE((tmp_path / "there" / "backup.tar").stat().st_mode) == 0o600
    with pytest.raises(FleetError, match="exists already"):
        back_up(layout, "", tmp_path / "link")


def test_a_backup_into_a_folder_that_is_not_there_names_it(layout: Layout, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    with pytest.raises(FleetError) as caught:
        back_up(layout, "", nowhere / "b")
    said = f"the backup {nowhere}/b cannot be written: {nowhere} is not there; give another name"
    assert str(caught.value) == said


LATER = b'{"controlPlanePort": 20000, "leeward": "9.0.0", "whatComesLater": 1, "version": 2}'


@pytest.mark.parametrize("content", [LATER, b"{", None])
def test_what_the_fleet_is_comes_back_with_its_own_backup_where_this_version_cannot_read_it(
    layout: Layout, tmp_path: Path, content: bytes | None
) -> None:
    """The way back from a version that writes more, which `leeward up` names before it goes there."""
    kept, before = tmp_path / "kept.tar", load_fleet(layout)
    back_up(layout, "", kept)
    if content is None:
        layout.fleet_file.unlink()
    else:
        layout.fleet_file.write_bytes(content)
    assert restore(layout, "", kept).objects == 1
    assert load_fleet(layout) == before
    aside = layout.root / "fleet.json.unreadable"
    assert (aside.read_bytes() if aside.exists() else None) == content


def test_what_the_fleet_is_does_not_come_from_the_backup_of_another_one(layout: Layout, backup: Path) -> None:
    write_file(layout.pki / "ca.crt", b"another authority")
    layout.fleet_file.write_bytes(LATER)
    before = tree(layout.root)
    with pytest.raises(FleetError):
        restore(layout, "", backup)
    assert tree(layout.root) == before


def test_a_backup_that_was_cut_off_anywhere_changes_nothing(layout: Layout, backup: Path, tmp_path: Path) -> None:
    before, nowhere = tree(layout.root), Layout(tmp_path / "nowhere")
    size = backup.stat().st_size
    with tarfile.open(backup) as archive:
        ends = [entry.offset_data + (entry.size + 511) // 512 * 512 for entry in archive]
    for length in [0, 1, 512, *range(1_000, ends[-1] - 512, size // 25), *ends[:-1]]:
        for target in (layout, nowhere):
            with pytest.raises(FleetError):
                restore(target, "", cut_off(backup, length))
        assert not nowhere.root.exists()
    assert tree(layout.root) == before


@pytest.mark.parametrize("name", ["fleet.json", "pki/ca.key", "control-plane/service-account.key", STORE])
def test_a_backup_in_which_something_is_missing_is_named_with_it(layout: Layout, backup: Path, name: str) -> None:
    before = tree(layout.root)
    with pytest.raises(FleetError, match=name):
        restore(layout, "", without(backup, name))
    assert tree(layout.root) == before


def test_a_store_that_is_damaged_in_the_middle_is_refused(layout: Layout, backup: Path) -> None:
    before = tree(layout.root)
    content = bytearray(backup.read_bytes())
    at = content.index(b"before", content.index(b"SQLite format 3"))
    content[at : at + 6] = b"behind"
    backup.write_bytes(content)
    with pytest.raises(FleetError, match=r"is no backup, or is damaged: .*checksum"):
        restore(layout, "", backup)
    assert tree(layout.root) == before


def test_the_backup_of_another_cluster_is_refused(layout: Layout, backup: Path, tmp_path: Path) -> None:
    of_member = tmp_path / "member1.tar"
    back_up(layout, "member1", of_member)
    before = tree(layout.root)
    for member, file, said in (
        ("member1", backup, "is a backup of the control plane, and not of member1: leave out --member"),
        ("member2", of_member, "is a backup of member1, and not of member2: give --member member1"),
        ("", of_member, "is a backup of member1, and not of the control plane: give --member member1"),
        ("member9", of_member, "there is no member 'member9'"),
    ):
        with pytest.raises(FleetError, match=said):
            restore(layout, member, file)
    assert tree(layout.root) == before
    assert restore(layout, "member1", of_member).objects == 1


def test_a_restore_that_fails_midway_leaves_what_was(
    layout: Layout, backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path, store: Path) -> Summary:
        raise MediumFailed(f"{store}: the disk is full")

    before = tree(layout.root)
    monkeypatch.setattr(copies, "restore", full)
    for target in (layout, Layout(tmp_path / "nowhere")):
        with pytest.raises(FleetError, match="the disk is full"):
            restore(target, "", backup)
    assert tree(layout.root) == before
    assert tree(tmp_path / "nowhere") == {}


def test_a_backup_of_a_later_format_names_the_way_out(layout: Layout, backup: Path) -> None:
    backup.write_bytes(backup.read_bytes().replace(b'{"format":1,', b'{"format":9,'))
    with pytest.raises(FleetError, match=r"of format 9, .*: use the version that wrote it"):
        restore(layout, "", backup)


@pytest.fixture
def in_use() -> Iterator[int]:
    """A port at which the control plane of the fleet that was backed up may listen."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def backed_up(root: Path, port: int, *joined: str) -> Path:
    back_up(make_fleet(root / "old", b"old", *joined, port=port), "", root / "old.tar")
    return root / "old.tar"


def ports_of(fleet: LocalFleet) -> set[int]:
    return {fleet.control_plane_port, *(member.port for member in fleet.members)}


def test_a_fleet_that_is_made_beside_the_one_that_was_backed_up_shares_no_port_with_it(
    tmp_path: Path, in_use: int
) -> None:
    new = Layout(tmp_path / "new")
    assert restore(new, "", backed_up(tmp_path, in_use, "member1", "member2")).moved
    fleet = load_fleet(new)
    assert [(member.name, member.mode) for member in fleet.members] == [("member1", "push"), ("member2", "push")]
    assert len(ports_of(fleet)) == 3
    assert not ports_of(fleet) & {in_use, 20_001, 20_002}


def test_a_fleet_that_is_made_where_nothing_listens_has_its_old_ports(tmp_path: Path) -> None:
    old = backed_up(tmp_path, free_port())
    members = tuple(Member(member.name, member.mode, free_port()) for member in MEMBERS)
    save_fleet(Layout(tmp_path / "old"), before := LocalFleet(free_port(), members))
    back_up(Layout(tmp_path / "old"), "", old.with_name("free.tar"))
    assert not restore(Layout(tmp_path / "new"), "", old.with_name("free.tar")).moved
    assert load_fleet(Layout(tmp_path / "new")) == before


def test_no_second_control_plane_is_made_for_a_cluster_that_has_joined_the_one_that_runs(
    layout: Layout, tmp_path: Path, in_use: int
) -> None:
    old = backed_up(tmp_path, in_use, "member1", "real")
    before, new = tree(layout.root), Layout(tmp_path / "new")
    for target in (new, layout):
        with pytest.raises(FleetError, match=rf"port {in_use} .* would act on real: stop that one first"):
            restore(target, "", old)
    assert (tree(new.root), tree(layout.root)) == ({}, before)


def test_a_backup_is_put_back_into_the_fleet_that_it_was_taken_of_while_that_runs(tmp_path: Path, in_use: int) -> None:
    old = backed_up(tmp_path, in_use, "member1", "real")
    assert not restore(Layout(tmp_path / "old"), "", old).moved


def test_what_a_restore_that_was_killed_has_unpacked_is_deleted_by_the_next_one(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or Secrets and keys would stay there. What another one is unpacking stays."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    back_up(layout, "", tmp_path / "kept.tar")
    write_file(tmp_path / "leeward-restore-killed" / "pki" / "ca.key", b"a key")
    with unpacking() as other:
        restore(layout, "", tmp_path / "kept.tar")
        assert [path.name for path in tmp_path.glob("leeward-restore-*")] == [other.name]


def test_a_directory_that_another_restore_takes_for_left_behind_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make, made = tempfile.mkdtemp, list[str]()

    def taken_at_first(*arguments: str | None, **options: str) -> str:
        made.append(make(*arguments, **options))
        if len(made) == 1:
            Path(made[0]).rmdir()
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", taken_at_first)
    with unpacking() as directory:
        assert directory.is_dir()
    assert len(made) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize(("component", "member"), [("control-plane", ""), ("member1", "member1")])
def test_what_has_lost_its_store_starts_when_a_backup_is_put_back(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, component: str, member: str, empty: bool
) -> None:
    """Or all policies and templates would be gone in silence."""
    started = list[str]()

    def spawn(layout: Layout, component: str, *_: object) -> None:
        started.append(component)
        layout.ready_file(component).parent.mkdir(exist_ok=True)
        layout.ready_file(component).touch()

    monkeypatch.setattr(processes, "spawn", spawn)
    back_up(layout, member, tmp_path / "kept.tar")
    store = (layout.member(member) if member else layout.control_plane) / STORE
    store.unlink()
    if empty:
        store.touch()
    told = f"is {'empty' if empty else 'missing'}, and {component} ran here before: .*`leeward restore FILE"
    with pytest.raises(FleetError, match=told):
        start_components(layout, ["member2", component])
    assert started == []
    restore(layout, member, tmp_path / "kept.tar")
    start_components(layout, ["member2", component, "new"])
    assert started == ["member2", component, "new"]
