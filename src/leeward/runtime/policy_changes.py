"""Changes of policies that have not been looked at yet: each policy's former selection, so that all is found again.

Shared by the matching of propagation policies with templates, and of override policies with bindings.
"""

from collections.abc import Sequence
from typing import NamedTuple

from controller_runtime import Key
from leeward.core.propagation.selecting import Selected, SelectedIn

MOST_EARLIER = 4
"""Number of earlier states that are kept of a policy that changes faster than it is looked at, so many earlier states
are kept; then everything of the kinds and namespaces that it selected from is looked at."""


class PolicyKey(NamedTuple):
    """`clustered`: of the cluster-wide kind of policies, not of the one with a namespace."""

    clustered: bool
    key: Key


class EarlierSelections:
    """Selections of policies before each of their changes, until somebody looks."""

    def __init__(self) -> None:
        self._earlier: dict[PolicyKey, list[Selected]] = {}

    def note(self, key: PolicyKey, before: Selected) -> None:
        """Keeps the selection of a policy before it changed."""
        earlier = self._earlier.setdefault(key, [])
        if len(earlier) >= MOST_EARLIER:
            earlier[:] = [_whole([*earlier, before])]
        else:
            earlier.append(before)

    def take(self, key: PolicyKey) -> Sequence[Selected]:
        """Takes the policy's selections since it was looked at last."""
        return self._earlier.pop(key, ())


def _whole(selections: Sequence[Selected]) -> Selected:
    """Selection of everything in the kinds and namespaces of these."""
    return {scope: SelectedIn(all=True) for selected in selections for scope in selected}
