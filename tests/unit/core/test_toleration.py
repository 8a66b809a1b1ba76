"""Taints against tolerations."""

import pytest

from kubeapi.core import Taint, Toleration
from kubeapi.toleration import tolerates, untolerated_taint

TAINT = Taint("key", "NoExecute", "value")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(key="key", value="value", effect="NoExecute"), True),
        (Toleration(key="key", value="value", operator="Equal"), True),
        (Toleration(key="key", value="other"), False),
        (Toleration(key="key", value="other", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(value="value"), True),
        (Toleration(), False),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="key", operator="Exists", effect="NoSchedule"), False),
        (Toleration(key="key", value="value", operator="Gt"), False),
    ],
)
def test_what_is_not_said_matches_all_and_an_unknown_operator_nothing(
    toleration: Toleration, *, expected: bool
) -> None:
    assert tolerates(toleration, TAINT) is expected


def test_the_first_taint_that_nothing_tolerates_is_named() -> None:
    soft, cordon = Taint("soft", "PreferNoSchedule"), Taint("cordon", "NoSchedule")
    assert untolerated_taint((soft, TAINT, cordon), ()) == TAINT
    assert untolerated_taint((soft, TAINT, cordon), (Toleration(key="key", operator="Exists"),)) == cordon
    assert untolerated_taint((soft,), ()) is None
    assert untolerated_taint((soft, TAINT, cordon), (), ("NoSchedule",)) == cordon
    assert untolerated_taint((TAINT,), (Toleration(key="other"), Toleration(operator="Exists"))) is None
