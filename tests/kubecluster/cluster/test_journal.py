"""The journal of a medium whose contents are replaced."""

from kubeapi.loop.virtual import run_virtual
from kubecluster.journal import Journal, JournaledMedium, Write
from kubeserver.store import Record
from kubeserver.store.medium import Batch


def test_of_a_backup_is_told_what_is_there_and_not_how_it_came_to_be() -> None:
    async def story() -> list[Write]:
        told: list[Write] = []
        journal = Journal(lambda: 0.0)
        medium = JournaledMedium("m1", journal)
        history = ((1, "/a", False), (2, "/b", False), (3, "/a", True), (4, "/a", False))
        await medium.commit(Batch([Record(key, revision, b"{}", gone) for revision, key, gone in history], (), 0))
        backup = await medium.load()
        journal.on_write(told.append)
        medium.replace(backup)
        await medium.load()
        return told

    told = run_virtual(story())
    assert [(write.record.revision, write.record.deleted) for write in told] == [(2, False), (4, False)]
