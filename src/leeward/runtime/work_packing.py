"""Packing of Works in the caches of informers: the manifests, for the rest of a Work is looked at again and again."""

from controller_runtime import InformerLimits
from controller_runtime.packing import MAX_UNPACKED, Packing, RecentObjects
from kubeapi import codec
from kubeapi.loop import Turns
from leeward.api.work import Work, WorkloadTemplate


def informer_limits(turns: Turns | None = None, max_unpacked: int = MAX_UNPACKED) -> InformerLimits:
    """Limits of informers in whose caches Works are packed."""
    return InformerLimits(turns or Turns(), RecentObjects(max_unpacked, {Work: PACKING}))


def _manifests_of(work: Work) -> bytes:
    return codec.encode(work.spec.workload)


def _with_manifests(body: bytes, rest: Work) -> Work:
    return rest.with_workload(codec.decode(body, WorkloadTemplate))


PACKING = Packing(_manifests_of, Work.without_manifests, _with_manifests)
