"""Clusters that are in no list, though nobody has unjoined them: a doubt about the list, and no absence.

The Clusters' API may show nothing for a while, as when its APIService changes hands. Unjoining removes the execution
space before it lets the Cluster go. So a Cluster without its object is *gone* when its execution space is, and may have
*vanished* as long as that is there. Registering a Pull member makes the space before the Cluster: whether there ever
was one, the brake controller finds out.

Decision 22 says why. Karmada takes every Cluster that is not listed for gone.
"""

from collections.abc import Iterable

from kubeapi.core import Namespace
from leeward.api.names import EXECUTION_SPACE_PREFIX


def vanished_clusters(listed: Iterable[str], namespaces: Iterable[Namespace]) -> tuple[str, ...]:
    """Names of Clusters that may have vanished: not `listed`, with an execution space that nobody is deleting.

    Holds: S5."""
    spaces = (n.name for n in namespaces if n.metadata.deletion_timestamp is None)
    known = {name.removeprefix(EXECUTION_SPACE_PREFIX) for name in spaces if name.startswith(EXECUTION_SPACE_PREFIX)}
    return tuple(sorted(known.difference(listed)))
