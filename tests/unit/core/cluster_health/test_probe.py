"""Meanings of the answers to a probe."""

from collections.abc import Callable
from typing import Any

import pytest

from leeward.core.cluster_health.probe import Probe, is_conclusive, judge_health, judge_read, unanswered_read
from leeward.core.cluster_health.ready_condition import Sight, ready_condition

NAMESPACE = b'{"kind":"Namespace","metadata":{"name":"kube-system"}}'


@pytest.mark.parametrize(
    ("code", "sight"), [(200, "healthy"), (500, "unhealthy"), (404, "unhealthy"), (401, "refused")]
)
def test_the_word_of_the_health_endpoint(code: int, sight: Sight) -> None:
    assert judge_health(code).sight == sight


@pytest.mark.parametrize(
    ("code", "body", "sight"),
    [
        (200, NAMESPACE, "healthy"),
        (200, b"[]", "refused"),
        (200, b"", "refused"),
        (302, b"", "refused"),
        (401, b"", "refused"),
        (403, b"", "refused"),
        (404, b"", "healthy"),
        (429, b"", "refused"),
        (500, b"", "not serving"),
        (504, b"", "not serving"),
    ],
)
def test_the_answer_to_the_read(code: int, body: bytes, sight: Sight) -> None:
    assert judge_read(code, body, "it", "/readyz").sight == sight


def test_the_answer_to_the_read_says_who_the_member_is() -> None:
    assert judge_read(200, b'{"metadata":{"uid":"u-1"}}', "it", "/readyz") == Probe("healthy", uid="u-1")
    assert judge_read(200, NAMESPACE, "it", "/readyz").uid == ""
    assert judge_read(404, b"", "it", "/readyz").uid == ""


def test_the_message_tells_what_was_asked_and_how_long_it_took() -> None:
    silent = unanswered_read("the Namespace kube-system", "/healthz", 5.0)
    condition = ready_condition(silent.sight, silent.detail)
    assert (condition.status, condition.reason) == ("False", "ClusterNotServing")
    expected = "reading the Namespace kube-system got no answer within 5 s, although /healthz says ok"
    assert condition.message == expected
    assert "broke off" in unanswered_read("it", "/readyz", None).detail


def test_a_right_that_is_missing_is_named_with_the_way_out() -> None:
    assert "right to get Namespaces" in judge_read(403, b"", "it", "/readyz").detail


@pytest.mark.parametrize(
    ("healthy", "seconds", "still", "conclusive"),
    [
        (True, 5.9, 0, True),
        (True, 6.1, 0, False),
        (True, 6.1, 6.0, False),
        (False, 5.0, 0, True),
        (False, 0.001, 0, True),
        (True, 6.0, 0, True),
        (False, 5.2, 0.5, False),
        (False, 5.5, 5.4, False),
        (False, 12.0, 7.0, True),
        (False, 1800.0, 1799.0, False),
    ],
)
def test_s13_a_probe_counts_where_the_cluster_was_given_the_time(
    healthy: bool, seconds: float, still: float, conclusive: bool
) -> None:
    assert is_conclusive(healthy=healthy, seconds=seconds, stood_still_seconds=still, timeout_seconds=5) is conclusive


@pytest.mark.parametrize(
    ("judge", "given", "sight", "detail"),
    [
        (judge_health, (200,), "healthy", ""),
        (judge_health, (503,), "unhealthy", ""),
        (judge_health, (403,), "refused", "the cluster refuses the credential with HTTP 403"),
        (judge_read, (200, NAMESPACE, "it", "/readyz"), "healthy", ""),
        (judge_read, (404, b"", "it", "/readyz"), "healthy", ""),
        (
            judge_read,
            (500, b"", "it", "/readyz"),
            "not serving",
            "reading it was answered with HTTP 500, although /readyz says ok",
        ),
        (
            judge_read,
            (401, b"", "it", "/readyz"),
            "refused",
            "reading it was refused with HTTP 401: give the credential the right to get Namespaces, "
            "or set --probe-serving=false",
        ),
        (
            judge_read,
            (429, b"", "it", "/readyz"),
            "refused",
            "reading it was put off with HTTP 429: the cluster has too many requests",
        ),
        (judge_read, (302, b"", "it", "/readyz"), "refused", "reading it was answered with HTTP 302"),
        (judge_read, (499, b"", "it", "/readyz"), "refused", "reading it was answered with HTTP 499"),
        (judge_read, (200, b"{}", "it", "/readyz"), "refused", "reading it was answered with what is no Namespace"),
        (
            unanswered_read,
            ("it", "/readyz", 2.5),
            "not serving",
            "reading it got no answer within 2.5 s, although /readyz says ok",
        ),
        (
            unanswered_read,
            ("it", "/readyz", None),
            "not serving",
            "reading it broke off without an answer, although /readyz says ok",
        ),
    ],
)
def test_each_answer_is_told_in_words_that_stay_the_same(
    judge: Callable[..., Probe], given: tuple[Any, ...], sight: Sight, detail: str
) -> None:
    assert judge(*given) == Probe(sight, detail)
