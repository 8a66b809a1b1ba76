"""The archive that a backup is: what goes in comes out, and nothing lands outside of the directory."""

import io
import stat
import tarfile
from pathlib import Path

import pytest

from leeward.app.local.archive import STORE, is_archive, unpack, write_archive
from leeward.app.local.errors import FleetError


def test_what_goes_in_comes_out_under_the_same_names_and_for_its_owner_only(tmp_path: Path) -> None:
    root, copy, target = tmp_path / "fleet", tmp_path / "copy", tmp_path / "backup.tar"
    (root / "pki").mkdir(parents=True)
    (root / "pki" / "ca.key").write_text("key")
    copy.write_text("objects")
    write_archive(target, copy, root, [root / "pki" / "ca.key", root / "absent"])
    assert is_archive(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    unpack(target, tmp_path / "out")
    found = {str(path.relative_to(tmp_path / "out")): path for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {name: path.read_text() for name, path in found.items()} == {STORE: "objects", "pki/ca.key": "key"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in found.values()} == {0o600}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.tar", "copy", "fleet", "out"]


def _foreign(path: Path, member: tarfile.TarInfo, content: bytes = b"") -> Path:
    member.size = len(content)
    with tarfile.open(path, "w") as archive:
        archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/../../outside"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    archive = _foreign(tmp_path / "backup.tar", tarfile.TarInfo(name), b"x")
    with pytest.raises(FleetError, match="is no backup"):
        unpack(archive, tmp_path / "into" / "deep")
    assert not (tmp_path / "outside").exists()


def test_a_link_is_refused_and_so_is_an_archive_without_a_store(tmp_path: Path) -> None:
    link = tarfile.TarInfo(STORE)
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with pytest.raises(FleetError, match="is no backup"):
        unpack(_foreign(tmp_path / "link.tar", link), tmp_path / "out")
    with pytest.raises(FleetError, match=r"there is no store\.db in it"):
        unpack(_foreign(tmp_path / "other.tar", tarfile.TarInfo("fleet.json"), b"{}"), tmp_path / "out")
