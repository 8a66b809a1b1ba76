"""`leeward orphans`: objects that run on in members, though the control plane or its bindings have forgotten them."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

import click

from leeward.app.local import FleetError
from leeward.cli.confirming import is_confirmed
from leeward.cli.connections import Target, ask, operator_options, target_of
from leeward.cli.output import complain, say, say_line
from leeward.cli.settings import Settings
from leeward.cli.tables import printable, render_table

if TYPE_CHECKING:
    from kubeclient import Client
    from leeward.operations.orphan_works import OrphanWork
    from leeward.operations.orphans import Findings, Orphan, Reach

T = TypeVar("T")

FOUND, UNKNOWN = 1, 2
"""Exit codes: orphans are there; a member, or the control plane, could not be read. 0 is for none."""
STAYING = (
    "{} of these stay: Namespaces, CustomResourceDefinitions, volumes and claims, in which others may keep something. "
    "Look into them; leeward orphans --delete --shared deletes them, and everything in them"
)


@click.command()
@click.option("--delete", is_flag=True, help="Delete the orphans that are shown. What is shown apart stays.")
@click.option(
    "--shared",
    is_flag=True,
    help="With --delete: also Namespaces, CustomResourceDefinitions, volumes and claims, with all that is in them.",
)
@click.option("--yes", is_flag=True, help="Do not ask before deleting; needed without a terminal.")
@operator_options
@click.pass_obj
def orphans(
    settings: Settings, delete: bool, shared: bool, yes: bool, kubeconfig: Path | None, context: str
) -> NoReturn:
    """List what runs in members that a restored control plane has forgotten.

    These are objects that carry its identity, and that no Work of it knows of: they were placed after the backup.
    And Works whose binding is gone: deleted, they take along what they have made in their member.

    --delete leaves alone what others may live in, who would lose what they keep there: --shared deletes that, too.

    Exits with 1 when there are orphans, with 2 when a member could not be read, and else with 0.
    """
    if shared and not delete:
        raise click.UsageError("--shared says what --delete deletes, and goes with it")
    try:
        left = _look(target_of(settings, kubeconfig, context), delete=delete, shared=shared, yes=yes)
    except FleetError as error:
        complain(str(error))
        left = UNKNOWN
    click.get_current_context().exit(left)


def _look(target: Target, *, delete: bool, shared: bool, yes: bool) -> int:
    """The exit code. Raises: FleetError."""
    from leeward.operations.orphans import find_orphans

    found = _with_members(target, find_orphans)
    _show(found)
    orphans = (*found.orphans, *found.works)
    remaining = len(orphans)
    chosen = [orphan for orphan in orphans if delete and (shared or not orphan.is_shared)]
    if chosen and is_confirmed(f"delete these {len(chosen)} objects?", yes=yes):
        remaining -= _delete(target, chosen)
    if delete and len(chosen) < len(orphans):
        say(STAYING.format(len(orphans) - len(chosen)))
    if found.unreadable:
        return UNKNOWN
    return FOUND if remaining else 0


def _with_members(target: Target, work: "Callable[[Client, Reach], Awaitable[T]]") -> T:
    """Raises: FleetError."""

    async def run(client: "Client") -> T:
        from leeward.app.member_clients import members_of

        return await work(client, members_of(client))

    return ask(target, run)


def _show(found: "Findings") -> None:
    if found.orphans:
        say(_table(found.orphans))
    elif not found.unreadable and not found.works:
        say("no orphans")
    if found.works:
        say("\nThese Works name a binding that does not exist; what they have made runs on in their cluster\n")
        rows = [(work.cluster, str(work.key), ", ".join(map(str, work.owners)), work.uid) for work in found.works]
        say(render_table(("CLUSTER", "WORK", "BINDING", "UID"), rows))
    if found.doubtful:
        say(
            "\nThese name a Work that does not exist, too, but are not known to be this control plane's "
            "(no leeward.dev/hub, or another name): they are never deleted here\n"
        )
        say(_table(found.doubtful))
    if found.preserved:
        say(
            "\nThese were left in their cluster on purpose (preserveResourcesOnDeletion), or are to be: they are never "
            "deleted here; kubectl does it\n"
        )
        say(_table(found.preserved))
    for cluster, problem in sorted(found.unreadable.items()):
        complain(printable(f"cluster {cluster} could not be read: {problem}"))


def _table(found: "Sequence[Orphan]") -> str:
    rows = [(o.cluster, o.resource.kind, o.key.namespace, o.key.name, o.uid) for o in found]
    return render_table(("CLUSTER", "KIND", "NAMESPACE", "NAME", "UID"), rows)


def _delete(target: Target, found: "Sequence[Orphan | OrphanWork]") -> int:
    """Deletes orphans, and returns how many are none any more. Raises: FleetError."""
    from kubeclient import WorldError
    from leeward.operations.orphan_works import OrphanWork, delete_orphan_work
    from leeward.operations.orphans import delete_orphan

    async def each(client: "Client", reach: "Reach") -> int:
        done = 0
        for orphan in found:
            try:
                if isinstance(orphan, OrphanWork):
                    deleted = await delete_orphan_work(client, orphan)
                else:
                    deleted = await delete_orphan(client, reach, orphan)
                say_line(f"{orphan} deleted" if deleted else f"{orphan} is no orphan any more, or is gone")
                done += 1
            except WorldError as error:
                complain(printable(f"{orphan} was not deleted: {error}"))
        return done

    return _with_members(target, each)
