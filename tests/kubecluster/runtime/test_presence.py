"""Presence of an object, asked of the API server: an answer about the path is none about the object (S5)."""

import pytest

from controller_runtime.presence import is_there
from kubeapi.core import CONFIG_MAPS
from kubeapi.loop.virtual import run_virtual
from kubeclient import Client, NotServed, Response, Unreachable
from tests.kubecluster.runtime.small_world import ScriptedTransport, response

GONE = {"reason": "NotFound", "details": {"name": "a", "kind": "configmaps"}}


def ask(answer: Response | Exception) -> bool:
    return run_virtual(is_there(Client(ScriptedTransport([answer])), CONFIG_MAPS, "a"))


def test_what_is_answered_is_there_even_if_nobody_can_read_it() -> None:
    assert ask(response({"metadata": {"name": "a"}}))
    assert ask(response({"metadata": "a"}))
    assert not ask(response(GONE, 404))


def test_where_the_path_is_not_served_nothing_is_known_s5() -> None:
    with pytest.raises(NotServed):
        ask(Response(404, b"404 page not found\n"))
    with pytest.raises(Unreachable):
        ask(Unreachable("connection refused"))
