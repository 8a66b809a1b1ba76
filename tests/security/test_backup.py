"""A backup is input.

The attacker hands somebody a file that claims to be a backup, or a data directory with a fleet.json in it: `leeward
restore`, `leeward up` or another verb is run on it. They have nothing else.

They do: name members, files and links so that they lead out of the data directory; put in files of running processes
and kubeconfigs; write ports, flags, sizes and revisions that no fleet has; hide triggers in the store; make an archive
that opens to more than it weighs.

They must not get: a file written outside of the data directory, a process ended, a trigger run, or half a fleet. What
they control if somebody takes their backup for their own is the fleet that it makes, and nothing else.
"""

import io
import json
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pytest

from leeward.app.local import archive, backups
from leeward.app.local.archive import STORE
from leeward.app.local.backups import back_up, restore
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import find_fleet
from leeward.app.local.layout import Layout
from tests.unit.app.test_backups import make_fleet, tree

Entry = tuple[tarfile.TarInfo, bytes]
WHOLE = ["control-plane/service-account.key", "control-plane/store.db", "fleet.json", "pki/ca.crt", "pki/ca.key"]
Mode = Literal["w", "w:gz", "w:bz2", "w:xz"]
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    target = tmp_path / "backup.tar"
    back_up(make_fleet(tmp_path / "before", b"before"), "", target)
    return target


@pytest.fixture
def nowhere(tmp_path: Path) -> Layout:
    """A data directory that is not there yet, two directories deep, so that `../..` is inside of the test's own."""
    return Layout(tmp_path / "a" / "data")


def entries_of(backup: Path) -> list[Entry]:
    with tarfile.open(backup) as whole:
        return [(entry, _content(whole, entry)) for entry in whole]


def _content(whole: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    file = whole.extractfile(entry)
    return b"" if file is None else file.read()


def forge(backup: Path, /, *added: Entry, mode: Mode = "w", **replaced: bytes) -> Path:
    """The backup with entries added and others, by the stem of their names, replaced."""
    entries = [(entry, replaced.get(Path(entry.name).stem, content)) for entry, content in entries_of(backup)]
    forged = backup.with_name("forged.tar")
    with tarfile.open(forged, mode) as target:
        for entry, content in (*entries, *added):
            if entry.isreg():
                entry.size = len(content)
            target.addfile(entry, io.BytesIO(content))
    return forged


def with_fleet(backup: Path, change: Change) -> Path:
    fleet = next(json.loads(content) for entry, content in entries_of(backup) if entry.name == "fleet.json")
    change(fleet)
    return forge(backup, fleet=json.dumps(fleet).encode())


def named(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", content: bytes = b"x") -> Entry:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    return entry, content if kind == tarfile.REGTYPE else b""


def refused(target: Layout, forged: Path, said: str) -> None:
    around = target.root.parent.parent
    before = {path: path.lstat().st_mtime_ns for path in around.rglob("*") if path.is_file()}
    with pytest.raises(FleetError, match=said):
        restore(target, "", forged)
    assert {path: path.lstat().st_mtime_ns for path in around.rglob("*") if path.is_file()} == before
    assert not target.root.exists()


def set_member(**fields: Any) -> Change:
    return lambda fleet: fleet["members"][0].update(fields)


def set_field(**fields: Any) -> Change:
    return lambda fleet: fleet.update(fields)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_member(name="../../../pwned"), r"members\[0\]\.name: '\.\./\.\./\.\./pwned': it must be a DNS label"),
        (set_member(name="/tmp/pwned"), r"members\[0\]\.name"),
        (set_member(name="a\nb"), r"members\[0\]\.name: 'a\\nb'"),
        (set_member(name=""), r"members\[0\]\.name"),
        (set_member(name="ca"), "kept for another component"),
        (set_member(name="admin"), "kept for another component"),
        (set_member(name="member2"), r"members\[1\]\.name: 'member2' is there twice"),
        (set_member(port=0), r"members\[0\]\.port: 0 is no port from 1 to 65535"),
        (set_member(port=-1), r"members\[0\]\.port"),
        (set_member(port=65_536), r"members\[0\]\.port"),
        (set_member(port=20_000), r"members\[0\]\.port: 20000 is the port of controlPlanePort, too"),
        (set_member(mode="root"), r"members\[0\]\.mode"),
        (set_member(command="/bin/sh"), "command"),
        (set_field(controlPlanePort=10**30), "controlPlanePort"),
        (set_field(controlPlanePort=70_000), "controlPlanePort: 70000 is no port"),
        (set_field(flags={"exec": "/bin/sh"}), "'exec'"),
        (set_field(flags={"metrics-bind-address": "0.0.0.0:1"}), "'metrics-bind-address'"),
        (set_field(flags={"cluster-failure-threshold": "soon"}), "--cluster-failure-threshold"),
        (set_field(timing="never"), r"\.timing"),
    ],
)
def test_a_fleet_that_cannot_be_is_refused_with_its_field(
    backup: Path, nowhere: Layout, change: Change, said: str
) -> None:
    refused(nowhere, with_fleet(backup, change), said)


@pytest.mark.parametrize("content", [b"[" * 200_000, b'{"version":1,"x":' + b"[" * 200_000, b"\xff\xfe", b"{}", b""])
def test_a_fleet_that_cannot_be_read_is_refused(backup: Path, nowhere: Layout, content: bytes) -> None:
    refused(nowhere, forge(backup, fleet=content), r"fleet\.json")
    refused(nowhere, forge(backup, backup=content), r"backup\.json")


def test_no_verb_takes_a_fleet_that_leads_out(backup: Path, nowhere: Layout) -> None:
    nowhere.root.mkdir(parents=True)
    forged = with_fleet(backup, set_member(name="../../../pwned"))
    nowhere.fleet_file.write_bytes(next(content for entry, content in entries_of(forged) if entry.name == "fleet.json"))
    with pytest.raises(FleetError, match=r"members\[0\]\.name"):
        find_fleet(nowhere)


@pytest.mark.parametrize(
    "entry",
    [
        named("../outside"),
        named("../../outside"),
        named("/tmp/leeward-outside"),
        named("pki/../../../outside"),
        named("control-plane/../fleet.json"),
        named("./fleet.json"),
        named("pki//ca.key"),
        named("pki/ca.key/"),
        named("pki/.ca.key"),
        named("pki/ca\n.key"),
        named("members/../../outside/tokens.csv"),
        named("members/Bad_Name/tokens.csv"),
        named("run/control-plane.json", content=b'{"pid":1,"startTime":1}'),
        named("kubeconfig", content=b"users: [{name: admin, user: {exec: {command: /bin/sh}}}]"),
        named("control-plane/audit.log"),
        named("logs/control-plane.log"),
        named("lock"),
        named("control-plane/store.db-wal"),
        named("pki/link.key", tarfile.SYMTYPE, "/etc/passwd"),
        named("pki", tarfile.SYMTYPE, "/tmp"),
        named("pki/hard.key", tarfile.LNKTYPE, "../../outside"),
        named("pki/pipe.key", tarfile.FIFOTYPE),
        named("pki/disk.key", tarfile.BLKTYPE),
        named("pki/terminal.key", tarfile.CHRTYPE),
        named("pki/directory.key", tarfile.DIRTYPE),
        named("pki/cont.key", tarfile.CONTTYPE),
        named("pki/sparse.key", tarfile.GNUTYPE_SPARSE),
        named("members/member1/tokens.csv"),
        named("fleet.json"),
    ],
    ids=lambda entry: f"{entry[0].name!r} {entry[0].type!r}",
)
def test_a_file_that_no_backup_has_is_refused(backup: Path, nowhere: Layout, entry: Entry) -> None:
    refused(nowhere, forge(backup, entry), "backup")


def sparse(backup: Path, real_bytes: int) -> Path:
    """The backup with a file of no bytes in the archive, and `real_bytes` when it is read."""
    entry, _ = named("pki/sparse.key")
    entry.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.map": f"{real_bytes},0",
                         "GNU.sparse.size": str(real_bytes), "GNU.sparse.realsize": str(real_bytes)}  # fmt: skip
    return forge(backup, (entry, b""))


def test_what_opens_to_more_than_it_weighs_is_refused(backup: Path, nowhere: Layout) -> None:
    refused(nowhere, sparse(backup, 1 << 40), "no regular file|has 1099511627776 bytes")
    refused(nowhere, forge(backup, named("pki/big.key", content=b"0" * ((1 << 20) + 1))), "may have 1048576")
    modes: list[tuple[Mode, str]] = [("w:gz", "gunzip"), ("w:bz2", "bunzip2"), ("w:xz", "unxz")]
    for mode, way_out in modes:
        refused(nowhere, forge(backup, mode=mode), f"is compressed: unpack it first, as with `{way_out}`")


@pytest.mark.parametrize("name", ["fleet.json", "store.db", "backup.json"])
def test_two_entries_of_one_name_are_refused_with_it(backup: Path, nowhere: Layout, name: str) -> None:
    twice = next((entry, content) for entry, content in entries_of(backup) if entry.name == name)
    refused(nowhere, forge(backup, twice), f"holds '{name}' twice")


def test_the_number_of_files_is_bounded(backup: Path, nowhere: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 20)
    forged = forge(backup, *(named(f"pki/n{number}.key") for number in range(20)))
    refused(nowhere, forged, "one more than 20 files")


@pytest.mark.parametrize("header", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.REGTYPE])
@pytest.mark.parametrize("size", [-512, -(1 << 40), 1 << 40, (1 << 20) + 512])
def test_a_header_with_an_absurd_size_is_refused(backup: Path, nowhere: Layout, header: bytes, size: int) -> None:
    entry = tarfile.TarInfo("pki/absurd.key")
    entry.type, entry.size = header, size
    forged = forge(backup)
    content = forged.read_bytes().rstrip(b"\0")
    padded = content + b"\0" * (-len(content) % 512)
    forged.write_bytes(padded + entry.tobuf(tarfile.GNU_FORMAT) + b"\0" * 2048)
    refused(nowhere, forged, "backup")


def test_headers_upon_headers_are_refused(backup: Path, nowhere: Layout) -> None:
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = tarfile.XHDTYPE, 0
    forged = backup.with_name("headers.tar")
    forged.write_bytes(entry.tobuf(tarfile.USTAR_FORMAT) * 5_000 + backup.read_bytes())
    refused(nowhere, forged, "cannot be read")


def with_store(backup: Path, *statements: str) -> Path:
    store = backup.with_name("forged.db")
    store.write_bytes(next(content for entry, content in entries_of(backup) if entry.name == STORE))
    with closing(sqlite3.connect(store)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return forge(backup, store=store.read_bytes())


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER UPDATE ON compaction BEGIN DELETE FROM records; END",
        "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE other (x)",
        "CREATE INDEX i ON records (key)",
        "ALTER TABLE records ADD COLUMN x INTEGER AS (revision + 1)",
        "DELETE FROM compaction",
        "INSERT INTO compaction VALUES (7)",
        "UPDATE compaction SET revision = 9223372036854775807",
        "UPDATE compaction SET revision = -1",
        "UPDATE records SET revision = 9223372036854775807",
    ],
)
def test_a_store_with_more_in_it_than_records_is_refused(backup: Path, nowhere: Layout, statement: str) -> None:
    refused(nowhere, with_store(backup, statement), "is damaged")


class Killed(BaseException):
    pass


def kill_after(renames: int, patch: pytest.MonkeyPatch) -> None:
    """Ends the next restore after so many of its renames; who is dead clears nothing up."""
    left = [renames]

    def sync(_: Path) -> None:
        left[0] -= 1
        if not left[0]:
            raise Killed

    def clear(layout: Layout) -> None:
        if left[0]:
            cleared(layout)

    cleared = backups.clear_interrupted
    patch.setattr(backups, "sync_directory", sync)
    patch.setattr(backups, "clear_interrupted", clear)


@pytest.mark.parametrize("renames", [1, 2, 3])
def test_a_restore_that_was_killed_midway_left_no_fleet_or_all_of_it(
    backup: Path, nowhere: Layout, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    with monkeypatch.context() as patch:
        kill_after(renames, patch)
        with pytest.raises(Killed):
            restore(nowhere, "", backup)
    assert (find_fleet(nowhere) is not None) == (renames == 3), "fleet.json comes last"
    restore(nowhere, "", backup)
    assert sorted(tree(nowhere.root)) == WHOLE


def test_a_directory_that_holds_something_else_is_left_as_it_is(backup: Path, nowhere: Layout) -> None:
    nowhere.root.mkdir(parents=True)
    (nowhere.root / "precious").write_text("mine")
    with pytest.raises(FleetError, match="is not empty and holds no fleet: give another --data-dir"):
        restore(nowhere, "", backup)
    assert tree(nowhere.root) == {"precious": b"mine"}


def test_a_sound_backup_is_still_put_back(backup: Path, nowhere: Layout) -> None:
    assert restore(nowhere, "", forge(backup)).objects == 1
    assert sorted(tree(nowhere.root)) == WHOLE
