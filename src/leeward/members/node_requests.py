"""Sums of the requests of each node's Pods, kept up to date with every change."""

from decimal import Decimal

from kubeapi.meta import Manifest
from leeward.members.rules.fitting import add, requests_of
from leeward.members.rules.pods import is_finished, node_of
from leeward.runtime.informer import Informer


class NodeRequests:
    """Finished Pods ask for nothing any more."""

    def __init__(self, pods: Informer[Manifest]) -> None:
        self.used: dict[str, dict[str, Decimal]] = {}
        pods.on_change(self._changed)

    def _changed(self, old: Manifest | None, new: Manifest | None) -> None:
        self._book(old, -1)
        self._book(new, 1)

    def _book(self, pod: Manifest | None, sign: int) -> None:
        if pod is not None and node_of(pod) and not is_finished(pod):
            name = node_of(pod)
            self.used[name] = add(self.used.get(name, {}), requests_of(pod), sign)
