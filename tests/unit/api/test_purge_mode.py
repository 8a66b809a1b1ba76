"""Purge modes: the texts that a policy, a task and the flag may say are those of the table."""

from typing import get_args

import pytest

from kubeapi.codec import DecodeError, decode
from leeward.api.defaulting import GRACE_PERIOD_SECONDS
from leeward.api.policy import ApplicationFailover, ClusterFailover
from leeward.api.purge_mode import (
    DEFAULT_PURGE_MODE,
    GRACE_PURGE_MODES,
    TAINT_PURGE_MODES,
    PurgeMode,
    PurgeModeText,
    TaintPurgeModeText,
    find_purge_mode,
    rules_of,
)


def test_every_mode_can_be_said_and_nothing_else() -> None:
    assert set(get_args(PurgeModeText)) == {"", *PurgeMode}
    assert set(get_args(TaintPurgeModeText)) == {"", *TAINT_PURGE_MODES}


def test_a_mode_that_no_taint_may_evict_by_is_refused_for_cluster_failover_alone() -> None:
    for mode in PurgeMode:
        text = f'{{"decisionConditions": {{}}, "purgeMode": "{mode}"}}'.encode()
        assert decode(text, ApplicationFailover).purge_mode == mode
        if rules_of(mode).serves_taints:
            assert decode(text, ClusterFailover).purge_mode == mode
        else:
            with pytest.raises(DecodeError):
                decode(text, ClusterFailover)


def test_a_text_is_a_mode_the_default_or_none() -> None:
    assert [find_purge_mode(text) for text in (*PurgeMode, "", "Graciously")] == [*PurgeMode, DEFAULT_PURGE_MODE, None]


def test_what_says_nothing_has_a_grace_period_that_can_be_filled_in() -> None:
    assert DEFAULT_PURGE_MODE in GRACE_PURGE_MODES
    assert DEFAULT_PURGE_MODE in TAINT_PURGE_MODES
    assert GRACE_PERIOD_SECONDS > 0
