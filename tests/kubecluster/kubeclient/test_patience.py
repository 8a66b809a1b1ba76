"""A server that puts requests off (429): it is asked again when it wants to be, within bounds that are told."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest

from controller_runtime.leader import FencedTransport, Leadership, NotLeading
from kubeapi.core import CONFIG_MAPS
from kubeapi.errors import Conflict, TooManyRequests
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.virtual import run_virtual
from kubeapi.retry_after import MOST_SECONDS, error_of_answer, retry_after_seconds
from kubeclient import Client, Request, Response
from kubeclient.limits import LimitedTransport, RequestPace
from kubeclient.patience import IMPATIENT, LONGEST_REST_SECONDS, PATIENT, Patience
from kubeclient.updating import UpdatingTransport
from tests.kubecluster.runtime.small_world import ScriptedTransport, config_map, config_maps, frame, response

MESSAGE = "storage is (re)initializing"
DATE = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
MAP = {"metadata": {"name": "a", "namespace": "default"}}
VERBS: dict[str, Callable[[Client], Coroutine[Any, Any, object]]] = {
    "get": lambda client: client.get(CONFIG_MAPS, "a", "default"),
    "list": lambda client: client.list(CONFIG_MAPS),
    "create": lambda client: client.create(CONFIG_MAPS, MAP, "default"),
    "update": lambda client: client.update(CONFIG_MAPS, MAP, "a", "default"),
    "patch": lambda client: client.patch(CONFIG_MAPS, "a", {"data": {"b": "c"}}, "default"),
    "apply": lambda client: client.apply(CONFIG_MAPS, MAP, "default", field_manager="somebody"),
    "delete": lambda client: client.delete(CONFIG_MAPS, "a", "default"),
    "raw": lambda client: client.raw("GET", "/version"),
}


class Initializing(ScriptedTransport):
    """A server that puts off the first two watches."""

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes], None]:
        if len(self.asked_at) < 2:
            self.asked_at.append(asyncio.get_running_loop().time())
            answer = put_off("2")
            raise error_of_answer(answer.code, answer.body, answer.headers)
        async with super().stream(request) as lines:
            yield lines


def put_off(retry_after: str = "1", **headers: str) -> Response:
    status = {"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": MESSAGE}
    return Response(429, json.dumps(status).encode(), {"retry-after": retry_after, **headers})


def asked_at(*answers: Response, patience: Patience = PATIENT) -> list[float]:
    """Instants at which a server that answers so is asked, when somebody wants one object."""
    transport = ScriptedTransport([*answers, response(config_map("a", 1))])
    run_virtual(VERBS["get"](Client(transport, patience=patience)))
    return transport.asked_at


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_sent_again_as_it_was_when_the_server_wants_to_be_asked(verb: str) -> None:
    whole = config_maps(1) if verb == "list" else response(config_map("a", 1))
    transport = ScriptedTransport([put_off("3"), put_off("3"), whole])
    run_virtual(VERBS[verb](Client(transport)))
    first, *others = transport.requests
    assert others == [first, first]
    assert transport.asked_at == [0, 3, 6]


def test_a_watch_is_opened_again_and_told_once() -> None:
    opened: list[float] = []

    async def main() -> list[str]:
        client = Client(Initializing(watches=[[frame("ADDED", config_map("a", 2))]]))
        watching = client.watch(
            CONFIG_MAPS, resource_version="1", opened=lambda: opened.append(asyncio.get_running_loop().time())
        )
        async with aclosing(watching) as events:
            return [event.type async for event in events]

    assert run_virtual(main()) == ["ADDED"]
    assert opened == [4]


def test_pauses_grow_where_the_server_asks_for_short_ones_or_none() -> None:
    for answer in (put_off("0"), put_off("-5"), put_off("soon"), Response(429, b"Too many requests")):
        instants = asked_at(*[answer] * 7)
        pauses = [later - earlier for earlier, later in pairwise(instants)]
        assert pauses == sorted(pauses)
        assert pauses[0] >= 0.25
        assert pauses[-1] == 4


def test_a_date_is_compared_with_that_of_the_answer() -> None:
    later = format_datetime(DATE + timedelta(seconds=7), usegmt=True)
    assert asked_at(put_off(later, date=format_datetime(DATE, usegmt=True))) == [0, 7]
    in_an_hour = format_datetime(datetime.now(UTC) + timedelta(hours=1))
    assert (retry_after_seconds({"retry-after": in_an_hour}) or 0) > 3000, "without a date, by our clock"
    assert retry_after_seconds({"retry-after": format_datetime(DATE), "date": format_datetime(DATE)}) == 0


@pytest.mark.parametrize("asked", ["86400", "9" * 5000, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_an_absurd_pause_is_not_obeyed(asked: str) -> None:
    assert asked_at(put_off(asked)) == [0, LONGEST_REST_SECONDS]
    assert (retry_after_seconds({"retry-after": asked}) or 0) <= MOST_SECONDS


@pytest.mark.parametrize("text", ["", "soon", "1.5", "-1", "²", "Mon", "Mon, 99 Foo 2026 25:61:61 GMT"])
def test_what_is_no_pause_is_none(text: str) -> None:
    assert retry_after_seconds({"retry-after": text}) is None


def test_patience_ends_and_the_error_says_so() -> None:
    transport = ScriptedTransport([put_off()] * 100)

    async def main() -> float:
        with pytest.raises(TooManyRequests) as caught:
            await VERBS["create"](Client(transport))
        assert str(caught.value).startswith(f"{MESSAGE} (429 Too Many Requests, {len(transport.requests)} times in ")
        assert "try again later" in str(caught.value)
        return asyncio.get_running_loop().time()

    assert PATIENT.seconds - 5 < run_virtual(main()) <= PATIENT.seconds
    assert len(transport.requests) <= PATIENT.attempts


def test_attempts_are_counted_too() -> None:
    assert len(asked_at(put_off(), put_off(), patience=Patience(attempts=3))) == 3
    with pytest.raises(TooManyRequests):
        asked_at(put_off(), put_off(), patience=Patience(attempts=2))


def test_whoever_comes_again_by_itself_is_told_at_once_for_how_long_to_wait() -> None:
    async def main() -> None:
        for verb in ("get", "create"):
            client = Client(ScriptedTransport([put_off("9")])).with_patience(IMPATIENT)
            with pytest.raises(TooManyRequests) as caught:
                await VERBS[verb](client)
            assert (str(caught.value), caught.value.retry_after_seconds) == (MESSAGE, 9)
        raw = await Client(ScriptedTransport([put_off("9")]), patience=IMPATIENT).raw("GET", "/version")
        assert raw.code == 429
        assert asyncio.get_running_loop().time() == 0

    run_virtual(main())


def test_another_refusal_is_not_waited_out() -> None:
    transport = ScriptedTransport([put_off(), response({"reason": "Conflict"}, 409)])
    with pytest.raises(Conflict):
        run_virtual(VERBS["update"](Client(transport)))
    assert transport.asked_at == [0, 1]


def test_s8_a_write_that_has_waited_is_not_sent_when_the_lease_has_ended_meanwhile() -> None:
    async def main() -> None:
        for verb in ("create", "update", "patch", "apply", "delete"):
            sent = ScriptedTransport([put_off("5"), response(config_map("a", 1))])
            leadership = Leadership(VirtualClock())
            leadership.extend(asyncio.get_running_loop().time() + 4)
            with pytest.raises(NotLeading):
                await VERBS[verb](Client(FencedTransport(sent, leadership)))
            assert len(sent.requests) == 1

    run_virtual(main())


def test_what_is_sent_again_takes_another_turn() -> None:
    sent = ScriptedTransport([put_off(), response(config_map("a", 1))])
    run_virtual(VERBS["get"](Client(LimitedTransport(sent, RequestPace(0.2, 1)))))
    assert sent.asked_at == [0, 5]


def test_a_patch_that_stands_as_an_update_is_carried_out_after_a_wait() -> None:
    found, refused = response(config_map("a", 1)), response({"reason": "Forbidden"}, 403)
    sent = ScriptedTransport([refused, found, put_off(), found, response(config_map("a", 2))])
    run_virtual(VERBS["patch"](Client(UpdatingTransport(sent))))
    assert [request.method for request in sent.requests] == ["PATCH", "GET", "PUT", "GET", "PUT"]


def test_who_waits_for_long_is_warned_once_of_what_it_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    asked_at(*[put_off()] * 10)
    path = "/api/v1/namespaces/default/configmaps/a"
    told = f"GET {path} was put off by the API server (429 Too Many Requests); it is sent again in 2 s"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [told]
    caplog.clear()
    asked_at(put_off(), put_off())
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
