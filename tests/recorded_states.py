"""Files and objects that hold what a control plane knows of itself, as the present version writes them.

`python -m tests.recorded_states` plays an outage, a cut of everything and a switch from Karmada on the virtual clock,
and puts into tests/data/formats/VERSION, of the present version alone:

    snapshot.json   the picture that `leeward snapshot` writes, while member1 is dead
    decision.json   the record of `leeward explain --record` about what is moving
    group.json      such a record about a member of a group that is held
    states.json     the brake while it is engaged, the heartbeat with a gap, and Clusters with what they remember
    switch.json     the records of a switch from Karmada, as they are between there and back
    backup.tar      a backup of the store that is kept there, with keys that open nothing
    shapes.json     each field of all these formats (`tests/format_shapes.py`)
"""

import gzip
import tempfile
from pathlib import Path

from kubeapi.codec import decode, encode
from kubeapi.files import write_file
from kubeapi.meta import Manifest
from kubeclient import Client
from leeward import __version__
from leeward.answers.fleet_state import encode_state
from leeward.answers.reading import read_fleet
from leeward.answers.subjects import asked_of, record_of
from leeward.api.names import BRAKE_NAME, HEARTBEAT_NAME, SYSTEM_NAMESPACE
from leeward.app.config import SIGNING_KEY_FILE
from leeward.app.local.backups import back_up
from leeward.app.local.layout import Layout
from leeward.app.migration.adopting import adopt
from leeward.app.migration.kinds import CLUSTER_MANIFESTS, CONFIG_MAP_MANIFESTS
from leeward.sim.world import World
from tests.format_shapes import shapes, write_shapes
from tests.migration.aggregated import AggregatedWorld
from tests.migration.test_adopting import LEASE_MANIFESTS
from tests.migration.test_adopting import play as play_switch
from tests.recorded_format import FORMATS, unpack_store
from tests.world.stories import apply, by_weight, deployment, held, play, policy
from tests.world.test_groups import WEB, member_of, running
from tests.world.test_safety import brake_engaged

SNAPSHOT, DECISION, GROUP, STATES, SWITCH, BACKUP, SHAPES = (
    "snapshot.json",
    "decision.json",
    "group.json",
    "states.json",
    "switch.json",
    "backup.tar",
    "shapes.json",
)
RECORDS = "leeward-adoption"


def recorded_file(version: str, name: str) -> bytes:
    return gzip.decompress((FORMATS / version / f"{name}.gz").read_bytes())


def unpack_backup(version: str, directory: Path) -> Path:
    path = directory / BACKUP
    path.write_bytes(recorded_file(version, BACKUP))
    return path


def recorded_objects(version: str, name: str) -> list[Manifest]:
    return decode(recorded_file(version, name), list[Manifest])


def keys_that_open_nothing(layout: Layout) -> None:
    for key in (layout.pki / "ca.crt", layout.pki / "ca.key", layout.control_plane / SIGNING_KEY_FILE):
        write_file(key, b"no key")


def record() -> None:
    found: dict[str, bytes] = {SHAPES: write_shapes(shapes()), BACKUP: _backup()}

    async def outage(world: World) -> None:
        await _one_dies(world, found)
        found[STATES] = encode(await _all_are_cut_off(world))

    async def switch(world: AggregatedWorld) -> None:
        await adopt(world.user, world.clock, lambda _: None)
        maps = await world.user.list(CONFIG_MAP_MANIFESTS, SYSTEM_NAMESPACE)
        found[SWITCH] = encode([each for each in maps.items if each["metadata"]["name"].startswith(RECORDS)])

    async def group(world: World) -> None:
        home = await running(world, member_of("shop", "web"), member_of("shop", "db", ("member1",)))
        await world.member(home).stop()
        await world.until(lambda: held(world, WEB) == "GroupHeld", 900)
        found[GROUP] = record_of(
            await read_fleet(world.client, world.clock, "recorded"), asked_of("deploy/web", "default")
        )

    play(outage)
    play(group)
    play_switch(switch, applications=False)
    for name, data in found.items():
        write_file(FORMATS / __version__ / f"{name}.gz", gzip.compress(data, mtime=0), mode=0o644)


async def _one_dies(world: World, found: dict[str, bytes]) -> None:
    """A gap in what was watched, and then the death of member1, seen while its replica moves."""
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 1})
    await world.sleep(60)
    world.crash_controllers()
    await world.sleep(300)
    world.start_controllers()
    await world.sleep(120)
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    await world.sleep(10)
    state = await read_fleet(world.client, world.clock, "recorded")
    found[SNAPSHOT] = encode_state(state)
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 2}, 900)
    state = await read_fleet(world.client, world.clock, "recorded")
    found[DECISION] = record_of(state, asked_of("deploy/web", "default"))
    await world.sleep(60)


async def _all_are_cut_off(world: World) -> list[Manifest]:
    """Member1 comes back, and is held down; then nothing answers, and the brake is engaged."""
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(60)
    clusters = (await world.client.list(CLUSTER_MANIFESTS)).items
    for name in world.members:
        await world.member(name).stop()
    await world.until(lambda: not any(map(world.is_ready, world.members)))
    await world.sleep(60)
    assert await brake_engaged(world)
    return [*clusters, *await _kept(world.client)]


async def _kept(client: Client) -> list[Manifest]:
    return [
        await client.get(CONFIG_MAP_MANIFESTS, BRAKE_NAME, SYSTEM_NAMESPACE),
        await client.get(LEASE_MANIFESTS, HEARTBEAT_NAME, SYSTEM_NAMESPACE),
    ]


def _backup() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        layout, target = Layout(Path(directory) / "fleet"), Path(directory) / BACKUP
        unpack_store(__version__, layout)
        keys_that_open_nothing(layout)
        back_up(layout, "", target)
        return target.read_bytes()


if __name__ == "__main__":
    record()
