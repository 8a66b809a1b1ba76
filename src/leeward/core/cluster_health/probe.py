"""The meaning of a member's answers to a probe: of its health endpoint, and of one small read as users make it.

A kube-apiserver whose etcd is dead can say ready for minutes while every read and write hangs. So its word is not
enough: it is Ready when it also serves a read that no cache answers. The read only takes away from the health
endpoint's word, and never adds to it.

Karmada: pkg/controllers/status (getClusterHealthStatus) asks the health endpoint alone; `--karmada-exact` does so.
"""

from typing import NamedTuple

import msgspec

from kubeapi import codec
from leeward.core.cluster_health.ready_condition import Sight

_REFUSALS = (401, 403)
_TOO_MANY_REQUESTS = 429
_LATE_SECONDS = 1.0
_ROUNDING_SECONDS = 1e-3
_WAY_OUT = "give the credential the right to get Namespaces, or set --probe-serving=false"


class Probe(NamedTuple):
    """`detail` is for people; it stays the same for as long as the observation does. `uid` is the identity of the
    member, empty where it does not say."""

    sight: Sight
    detail: str = ""
    uid: str = ""


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""


class _Namespace(msgspec.Struct, frozen=True):
    metadata: _Metadata


def is_conclusive(*, healthy: bool, seconds: float, stood_still_seconds: float, timeout_seconds: float) -> bool:
    """Tells whether a probe that took so long says anything of the cluster, rather than of the one that asked.

    A failure counts when the cluster was given the whole time-out while we ran, or when we never stood still. An
    answer that has waited for long is old. `seconds` count from question to verdict. Holds: S13.
    """
    if stood_still_seconds > 0 and not healthy:
        return seconds - stood_still_seconds >= timeout_seconds - _ROUNDING_SECONDS
    return seconds <= timeout_seconds + _LATE_SECONDS


def judge_health(code: int) -> Probe:
    """The verdict on the answer of the health endpoint."""
    if code in _REFUSALS:
        return Probe("refused", f"the cluster refuses the credential with HTTP {code}")
    return Probe("healthy" if code == 200 else "unhealthy")


def judge_read(code: int, body: bytes, what: str, endpoint: str) -> Probe:
    """The verdict on the answer to the read of `what`, where `endpoint` has said ok.

    A 404 is a served read. An answer that says nothing about other clients (no right to ask, too many requests, not to
    be decoded) is neither health nor an outage.
    """
    if code == 404:
        return Probe("healthy")
    if code >= 500:
        return Probe("not serving", f"reading {what} was answered with HTTP {code}, although {endpoint} says ok")
    if code in _REFUSALS:
        return Probe("refused", f"reading {what} was refused with HTTP {code}: {_WAY_OUT}")
    if code == _TOO_MANY_REQUESTS:
        return Probe("refused", f"reading {what} was put off with HTTP {code}: the cluster has too many requests")
    if code != 200:
        return Probe("refused", f"reading {what} was answered with HTTP {code}")
    try:
        namespace = codec.decode(body, _Namespace)
    except codec.DecodeError:
        return Probe("refused", f"reading {what} was answered with what is no Namespace")
    return Probe("healthy", uid=namespace.metadata.uid)


def unanswered_read(what: str, endpoint: str, seconds: float | None) -> Probe:
    """The verdict on a read without an answer: none came within `seconds`, or the connection broke (None)."""
    how = "broke off without an answer" if seconds is None else f"got no answer within {seconds:g} s"
    return Probe("not serving", f"reading {what} {how}, although {endpoint} says ok")
