"""Quantities: exact amounts and canonical texts."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.quantity import Quantity, canonical_quantity, format_quantity, is_binary, milli, parse_quantity, whole

RECORDED = Path(__file__).parents[1] / "data" / "quantities" / "canonical.jsonl"


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", "0"),
        ("100m", "0.1"),
        ("1.5Gi", "1610612736"),
        ("3e2", "300"),
        ("3E2", "300"),
        ("2E", "2000000000000000000"),
        ("-5k", "-5000"),
        ("+.5", "0.5"),
        ("5.", "5"),
        ("1u", "0.000001"),
        (2, "2"),
        (0.5, "0.5"),
    ],
)
def test_a_quantity_is_read_exactly(text: Quantity, amount: str) -> None:
    assert parse_quantity(text) == Decimal(amount)


@pytest.mark.parametrize("text", ["", "x", "1.2.3", "1 Gi", "1gi", "--1", "1e", "1KI", "\u0661"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="quantities must match a number"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["9" * 100, "9" * 2_000_000, "9e30", "1e" + "9" * 5_000])
def test_what_is_absurd_is_finite(text: str) -> None:
    assert parse_quantity(text) == Decimal("1e30")
    assert parse_quantity(f"-{text}") == Decimal("-1e30")


def test_finer_than_a_nano_is_rounded_up() -> None:
    assert parse_quantity("0.0000000001") == Decimal("1e-9")


def test_a_quantity_is_written_back_as_by_kubernetes() -> None:
    """Recorded answers of k8s.io/apimachinery 0.36.2 (`tests/data/quantities`)."""
    answers = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    assert len(answers) == 239
    assert [[text, canonical(text)] for text, _ in answers] == answers


def canonical(text: str) -> str | None:
    try:
        return canonical_quantity(text)
    except ValueError:
        return None


def test_units_and_thousandths_are_rounded_up() -> None:
    assert whole("1m") == 1
    assert whole("-1500m") == -1
    assert milli("1u") == 1
    assert milli("1.5") == 1500


@pytest.mark.parametrize(
    ("amount", "binary", "text"),
    [
        ("0", False, "0"),
        ("0.1", False, "100m"),
        ("1.5", False, "1500m"),
        ("1000", False, "1k"),
        ("1024", False, "1024"),
        ("1024", True, "1Ki"),
        ("1610612736", True, "1536Mi"),
        ("1000", True, "1k"),
        ("-2000", False, "-2k"),
    ],
)
def test_an_amount_is_written_canonically(amount: str, binary: bool, text: str) -> None:
    assert format_quantity(Decimal(amount), binary) == text


def test_binary_texts_are_told_from_decimal_ones() -> None:
    assert is_binary("1Gi")
    assert not is_binary("1G")
    assert not is_binary(5)


@given(st.integers(-(2**70), 2**70), st.booleans())
def test_writing_and_reading_gives_the_amount_back(nanos: int, binary: bool) -> None:
    amount = Decimal(nanos).scaleb(-9)
    assert parse_quantity(format_quantity(amount, binary)) == amount
