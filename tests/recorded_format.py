"""Objects of a fleet as the present format of a data directory has them, to be opened by versions to come.

`python -m tests.recorded_format DATA VERSION` takes them from the data directory of a fleet that does not run, and puts
them into tests/data/formats/VERSION: done once for each release that changes a format, and never again for that one.
"""

import gzip
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from kubeapi.files import write_file
from kubeserver.store.backup import back_up
from leeward.app.local.archive import STORE
from leeward.app.local.fleet import LocalFleet, save_fleet
from leeward.app.local.layout import Layout

FORMATS = Path(__file__).parent / "data" / "formats"
RELEASES = sorted(path.name for path in FORMATS.iterdir())
KEPT = (
    "/apiextensions.k8s.io/customresourcedefinitions//outages.leeward.dev",
    "//namespaces//",
    "//configmaps/karmada-system/leeward-brake",
    "/apps/deployments/default/",
    "/cluster.karmada.io/clusters/",
    "/coordination.k8s.io/leases/karmada-system/leeward-heartbeat",
    "/leeward.dev/outages/",
    "/policy.karmada.io/",
    "/work.karmada.io/",
)
"""Keys begin like this; no Secret is among them."""
OTHERS = " AND ".join(["instr(key, ?) <> 1"] * len(KEPT))
OLDER = "deleted OR revision < (SELECT max(revision) FROM records AS other WHERE other.key = records.key)"


def record(data: Path, version: str) -> None:
    directory = FORMATS / version
    directory.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        store = Path(name) / STORE
        back_up(data / "control-plane" / STORE, store)
        with closing(sqlite3.connect(store, isolation_level=None)) as connection:
            connection.execute(f"DELETE FROM records WHERE {OTHERS}", KEPT)
            connection.execute(f"DELETE FROM records WHERE {OLDER}")
            connection.execute("VACUUM")
        write_file(directory / f"{STORE}.gz", gzip.compress(store.read_bytes(), mtime=0), mode=0o644)
    save_fleet(Layout(directory), LocalFleet(20_000, timing="fast", leeward=version))


def unpack_store(version: str, layout: Layout) -> None:
    """Makes a data directory of that version, whose fleet does not run; it has no keys."""
    write_file(layout.control_plane / STORE, gzip.decompress((FORMATS / version / f"{STORE}.gz").read_bytes()))
    write_file(layout.fleet_file, (FORMATS / version / layout.fleet_file.name).read_bytes())


if __name__ == "__main__":
    record(Path(sys.argv[1]), sys.argv[2])
