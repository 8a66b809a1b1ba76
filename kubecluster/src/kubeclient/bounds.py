"""Bounds on what a server may answer. What is beyond them is not read to its end, and what was read is given back.

They are far above what a cluster of the largest supported size (5,000 nodes, 150,000 Pods) answers.
"""

from dataclasses import dataclass

MiB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds in bytes, of one whole answer when it is unpacked, and of one line of a watch.

    `is_plain`: answers are asked for without compression.
    """

    body: int
    line: int
    is_plain: bool = False


MAX_OBJECT_BYTES = 16 * MiB
"""Most bytes of one object of any server: ten times what etcd takes."""
CONTROL_PLANE_BOUNDS = Bounds(body=512 * MiB, line=64 * MiB)
DEFAULT_BOUNDS = Bounds(body=64 * MiB, line=MAX_OBJECT_BYTES)
MEMBER_BOUNDS = Bounds(body=64 * MiB, line=MAX_OBJECT_BYTES, is_plain=True)
"""A page of 500 objects of 128 KiB; pages are asked for in smaller ones where that is not enough."""

OPEN_TIMEOUT_SECONDS = 10.0
"""Seconds until a stream is open: a watch that was asked for has answered by then, or has failed."""
MAX_LIST_PAGES = 2_000
MAX_LIST_SECONDS = 300.0
MAX_LIST_OBJECTS = 200_000
"""Most objects of one list of a member."""
MAX_CACHED_OBJECTS = 500_000
MAX_CACHED_BYTES = 512 * MiB
"""Most bytes of all kinds of one member that are followed, as compact JSON of the fields that are kept."""
MAX_EVENTS_PER_SECOND = 2_000
"""Most events a second of one watch of a member, after a burst of ten times as many; the rest waits in the member."""
MAX_GROUP_VERSIONS, MAX_KINDS = 2_000, 20_000
"""Most group versions and kinds that one member may offer."""
MAX_NAME_LENGTH = 253
"""Most letters of the name of a kind, a resource or a group version that a member offers."""
