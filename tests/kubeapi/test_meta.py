"""Times as Kubernetes prints and reads them."""

import pytest

from kubeapi.meta import format_micro_time, format_time, parse_time

NOW = parse_time("2000-01-01T00:00:00.25Z")


def test_times_are_printed_as_kubernetes_prints_them() -> None:
    assert format_time(NOW) == "2000-01-01T00:00:00Z"
    assert format_micro_time(NOW) == "2000-01-01T00:00:00.250000Z"
    assert format_time(parse_time("2000-01-01T02:00:00+02:00")) == "2000-01-01T00:00:00Z"


@pytest.mark.parametrize("text", ["2000-01-01T00:00:00", "yesterday", ""])
def test_a_time_without_a_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no time zone|Invalid isoformat"):
        parse_time(text)
