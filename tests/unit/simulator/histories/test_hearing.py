"""Log of the product while a history is played."""

import logging

import pytest

from simulator.histories.log_capture import captured_logs


@pytest.mark.parametrize("name", ["leeward.controllers.test", "controller_runtime.controller", "kubecluster.kubelet"])
def test_an_error_with_a_traceback_is_a_bug_and_nothing_else_is(name: str, caplog: pytest.LogCaptureFixture) -> None:
    log, bugs = logging.getLogger(name), list[str]()
    with captured_logs(bugs.append):
        log.warning("a probe has failed", exc_info=ValueError("late"))
        log.error("the lease is lost")
        log.error("no reconcile", exc_info=ValueError("wrong"))
    assert bugs == ["no reconcile: ValueError: wrong"]
    assert caplog.records == [], "nothing of it goes on to the terminal"


def test_afterwards_all_is_as_before() -> None:
    logger, bugs = logging.getLogger("leeward"), list[str]()
    before = (logger.propagate, logging.root.manager.disable, list(logger.handlers))
    with pytest.raises(RuntimeError), captured_logs(bugs.append):
        raise RuntimeError
    assert (logger.propagate, logging.root.manager.disable, list(logger.handlers)) == before
