"""Findings about orphans, for `leeward status`.

Every kind of every member is read for it: within a deadline, and not again before a while has passed.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from kubeclient import Client
from leeward.operations.findings import NAMED_AT_MOST, Finding, Severity
from leeward.operations.orphan_works import OrphanWork
from leeward.operations.orphans import Findings, Orphan, Reach, ReadingObstacle, find_orphans
from leeward.operations.sentences import counted
from leeward.operations.status import Found

SECONDS = 5.0
AGAIN_AFTER = timedelta(seconds=60)


class OrphanFindings:
    """Remembers its findings, for whoever looks at a fleet again and again."""

    def __init__(self) -> None:
        self._looked: datetime | None = None
        self._found = Found()

    async def find(self, client: Client, reach: Reach, now: datetime) -> Found:
        """Raises: WorldError when the control plane cannot be read."""
        if self._looked is None or not self._looked <= now < self._looked + AGAIN_AFTER:
            self._found = told(await find_orphans(client, reach, SECONDS))
            self._looked = now
        return self._found


def told(seen: Findings) -> Found:
    """Findings as `leeward status` tells them: what cannot be seen here is a finding or a note, never unseen."""
    unread = [
        f"orphans in {cluster}: {problem}; `leeward orphans` looks again"
        for cluster, problem in sorted(seen.unreadable.items())
        if cluster not in seen.obstacles
    ]
    if len(unread) > NAMED_AT_MOST:
        unread[NAMED_AT_MOST:] = [f"orphans in {len(unread) - NAMED_AT_MOST} more clusters: see `leeward orphans`"]
    findings = [_finding("object", "in members that the control plane has forgotten", seen.orphans)]
    findings.append(_finding("Work", "whose binding is gone", seen.works))
    findings.append(_without_credential(seen))
    notes = [
        *_unlooked(seen, ReadingObstacle.NOT_READY, "not Ready"),
        *_unlooked(seen, ReadingObstacle.NO_PROXY, "this control plane has no cluster proxy"),
    ]
    return Found([finding for finding in findings if finding is not None], unread, notes)


def _without_credential(seen: Findings) -> Finding | None:
    """Finding about clusters that are Ready by what was seen of them last, and whose controllers cannot go on with
    them."""
    clusters = [name for name, obstacle in sorted(seen.obstacles.items()) if obstacle is ReadingObstacle.NO_CREDENTIAL]
    if not clusters:
        return None
    sentence = f"the credentials of {counted(len(clusters), 'cluster')} are missing or cannot be used"
    details = [f"{name}: {seen.unreadable[name]}" for name in clusters[:NAMED_AT_MOST]]
    more = len(clusters) - NAMED_AT_MOST
    details += [f"and {counted(more, 'other cluster')}"] if more > 0 else []
    about = f"cluster/{clusters[0]}"
    return Finding(Severity.NEEDS_SOMEBODY, about, sentence, tuple(details), f"leeward explain cluster/{clusters[0]}")


def _unlooked(seen: Findings, why: ReadingObstacle, said: str) -> list[str]:
    clusters = [name for name, obstacle in sorted(seen.obstacles.items()) if obstacle is why]
    if not clusters:
        return []
    named = ", ".join(clusters[:NAMED_AT_MOST]) + (", ..." if len(clusters) > NAMED_AT_MOST else "")
    return [f"orphans are not looked for in {named}: {said}"]


def _finding(kind: str, said: str, orphans: Sequence[Orphan | OrphanWork]) -> Finding | None:
    """`3 objects in members that the control plane has forgotten: 2 in ams-1, 1 in fra-2`"""
    if not orphans:
        return None
    by_cluster = sorted(Counter(orphan.cluster for orphan in orphans).items())
    parts = [f"{number} in {cluster}" for cluster, number in by_cluster[:NAMED_AT_MOST]]
    more = len(by_cluster) - NAMED_AT_MOST
    parts += [f"and more in {counted(more, 'other cluster')}"] if more > 0 else []
    sentence = f"{counted(len(orphans), kind)} {said}: {', '.join(parts)}"
    return Finding(Severity.NEEDS_SOMEBODY, "orphans", sentence, next="leeward orphans")
