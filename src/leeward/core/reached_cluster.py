"""Identity of the cluster that the endpoint and the credential of a Push member lead to.

Karmada asks who a cluster is when it joins, and never again.
"""

from collections.abc import Iterable

from leeward.core.registration import Joined


def problem_of_reached(name: str, found: str, joined: Iterable[Joined], control_plane_id: str) -> str:
    """The reason why nothing is done for the cluster `name` in the one with the id `found`, which answers at its
    endpoint; empty where there is none.

    An id that nobody has is that of a member that was rebuilt (decision 23). Its own is not questioned, whoever else
    has it. Holds: S5, S6.
    """
    others = [other for other in joined if other.id == found]
    if not found or any(other.name == name for other in others):
        return ""
    whose = f"the cluster {others[0].name}, which has joined, too" if others else ""
    if found == control_plane_id:
        whose = "the control plane itself"
    lead = f"spec.apiEndpoint and the Secret of {name} lead to {whose}"
    return f"{lead}: nothing is done there for {name}; give it those of its own cluster" if whose else ""
