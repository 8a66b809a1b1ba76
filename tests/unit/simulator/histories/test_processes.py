"""A campaign survives whatever becomes of its processes, and names what they were about."""

import multiprocessing
import os
import signal

import pytest

from simulator.histories.processes import Failure, Limits, each_in_its_process

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
HANGS = 5


def misbehave(number: int) -> int:
    match number:
        case 1:
            raise KeyError("nobody")
        case 2:
            while True:
                pass
        case 3:
            os.kill(os.getpid(), signal.SIGKILL)
        case 4:
            os._exit(7)
        case 5:
            signal.pause()
        case _:
            pass
    return number * number


def test_whatever_becomes_of_a_process_the_others_answer() -> None:
    answers = dict(each_in_its_process(misbehave, [0, 1, 2, 3, 4, 6, 7], 3, Limits(cpu_seconds=0.1)))
    failures = {number: answer.reason for number, answer in answers.items() if isinstance(answer, Failure)}
    assert {number: answer for number, answer in answers.items() if number not in failures} == {0: 0, 6: 36, 7: 49}
    assert failures.pop(1).startswith("KeyError: 'nobody' (")
    assert failures == {
        2: "it does not end: 0.1 CPU seconds are used up",
        3: "its process was killed by SIGKILL",
        4: "its process ended with 7 and said nothing",
    }


def test_a_process_that_hangs_is_given_up() -> None:
    answers = list(each_in_its_process(misbehave, [HANGS], 1, Limits(elapsed_seconds=0.2)))
    assert answers == [(HANGS, Failure("it hangs: no answer within 0.2 s"))]


def test_a_campaign_that_is_broken_off_leaves_no_process_behind() -> None:
    answers = each_in_its_process(misbehave, [0, HANGS, HANGS], 3)
    assert next(answers) == (0, 0)
    answers.close()
    assert multiprocessing.active_children() == []
