"""Removals are found again, when a cluster is well or the brake changes, without a look at all other Works."""

from leeward.api.resource import NAMESPACES, WORKS
from leeward.controllers.removal_holds import RemovalHolds
from tests.unit.controllers.desk import SPACE, Desk, play

WORKS_THAT_STAY = 20


def test_only_works_that_are_being_deleted_are_looked_at_again() -> None:
    found: list[list[str]] = []

    async def story(desk: Desk) -> None:
        await desk.cluster()
        holds = RemovalHolds(desk.plane)
        for number in range(WORKS_THAT_STAY):
            await desk.work(f"web-{number}")
        for name in ("kept-1", "kept-2"):
            await desk.work(name, metadata={"finalizers": ["example.com/kept"]})
            await desk.client.delete(WORKS, name, SPACE)
        await desk.plane.client.get(NAMESPACES, "default")
        found.append([work.name for work in holds.removals()])
        await desk.client.patch(WORKS, "kept-1", {"metadata": {"finalizers": None}}, SPACE)
        await desk.plane.client.get(NAMESPACES, "default")
        found.append([work.name for work in holds.removals()])

    play(story)
    assert found == [["kept-1", "kept-2"], ["kept-2"]]
