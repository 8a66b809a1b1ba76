"""Objects that carry the traffic or the configuration of a copy, as Services and ConfigMaps: they leave after it.

A policy may select them along with the application. While the copy stays in a cluster, it needs them there.
"""

from kubeapi.meta import labels_of
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.core.execution.addresses import Uses, is_used, uses_of
from leeward.core.interpreter.fields import text_at
from leeward.runtime.bounded import keep_latest
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.index import IndexOfMany

MAX_REMEMBERED = 10_000
_Key = tuple[str, str, str]


class Carriers:
    """Follows Works by cluster, namespace and policy; those of copies that leave also without a policy."""

    def __init__(self, plane: ControlPlane) -> None:
        self._works = IndexOfMany[Work, _Key](plane.informers.of(WORKS), _keys)
        self._uses: dict[str, tuple[int, Uses]] = {}
        """Uses of Works by uid, with the generation that was read."""

    def carries(self, work: Work) -> bool:
        """Tells whether a copy in the cluster of `work` uses its objects, and leaves as well, or follows one policy
        with them. A copy that is being deleted uses nothing any more."""
        users = (each for key in {*_keys(work), _leaving(work)} for each in self._works.get(key))
        manifests = work.spec.workload.manifests
        return any(
            is_used(manifest, self._used_by(user)) for user in users if not _goes(user) for manifest in manifests
        )

    def _used_by(self, work: Work) -> Uses:
        uid, generation = work.metadata.uid, work.metadata.generation
        known = self._uses.get(uid)
        if known is None or known[0] != generation:
            found = uses_of(work.spec.workload.manifests)
            known = self._uses[uid] = generation, found
            keep_latest(self._uses, MAX_REMEMBERED)
        return known[1]


def _goes(work: Work) -> bool:
    return work.metadata.deletion_timestamp is not None and not work.is_removal_held


def _keys(work: Work) -> list[_Key]:
    policies = {
        labels_of(manifest).get(label, "")
        for manifest in work.spec.workload.manifests
        for label in (POLICY_ID_LABEL, CLUSTER_POLICY_ID_LABEL)
    }
    space, namespace, _ = _leaving(work)
    keys = [(space, namespace, policy) for policy in policies if policy]
    return [*keys, _leaving(work)] if work.is_leaving or work.is_removal_held else keys


def _leaving(work: Work) -> _Key:
    manifests = work.spec.workload.manifests
    return work.namespace, text_at(manifests[0], "metadata", "namespace") if manifests else "", ""
