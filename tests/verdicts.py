"""Answers of a webhook's judge of one question: nothing, a refusal, or that it cannot be told for now."""

from typing import Any


def assert_judged(answer: dict[str, Any] | None, refusal: str, code: int = 422) -> None:
    """Checks the answer: without a refusal there is nothing to answer."""
    if not refusal:
        assert answer is None
        return
    assert answer is not None
    assert (answer["allowed"], answer["status"]["code"]) == (False, code)
    assert refusal in answer["status"]["message"]


def assert_not_told(answer: dict[str, Any] | None, why: str) -> None:
    assert answer is not None
    assert answer["status"]["code"] == 503
    assert why in answer["status"]["message"]
