"""Seats and turns: who waits, who is sent away, and that a greedy client starves nobody."""

import asyncio

from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.transport import Request, Response
from kubeserver.handler import StreamResponse, User
from kubeserver.handlers.fairness import Fairness, Limits
from kubeserver.handlers.rate_limits import REMEMBERED_USERS, RateLimiter

GREEDY, MODEST = User("greedy"), User("modest")


class Slow:
    """Answers one second later, and remembers in which order."""

    def __init__(self) -> None:
        self.answered: list[str] = []
        self.at_once = 0
        self.most = 0

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await asyncio.sleep(1)
        finally:
            self.at_once -= 1
        self.answered.append(user.name)
        return Response(200, b"")


async def ask(fairness: Fairness, user: User, path: str = "/api/v1/pods", method: str = "GET") -> int:
    answer = await fairness.handle(Request(method, path), user)
    return answer.code if isinstance(answer, Response) else 0


def test_users_take_turns_however_many_requests_one_of_them_has_waiting() -> None:
    async def main() -> None:
        slow = Slow()
        fairness = Fairness(slow, Limits(reading=1))
        async with Supervisor("clients") as clients:
            tasks = [clients.start(ask(fairness, GREEDY), "greedy") for _ in range(10)]
            await asyncio.sleep(0.5)
            tasks.append(clients.start(ask(fairness, MODEST), "modest"))
            await asyncio.wait(tasks)
        assert slow.answered.index("modest") <= 2
        assert slow.most == 1

    run_virtual(main())


def test_a_full_queue_is_answered_with_429_and_others_still_get_in() -> None:
    async def main() -> None:
        fairness = Fairness(Slow(), Limits(reading=1, queued=3))
        async with Supervisor("clients") as clients:
            tasks = [clients.start(ask(fairness, GREEDY), "greedy") for _ in range(10)]
            await asyncio.sleep(0.1)
            assert await ask(fairness, MODEST) == 200
            codes = [await task for task in tasks]
        assert (codes.count(200), codes.count(429)) == (4, 6)

    run_virtual(main())


def test_the_429_says_when_to_come_back() -> None:
    async def main() -> None:
        fairness = Fairness(Slow(), Limits(reading=1, queued=0))
        async with Supervisor("clients") as clients:
            clients.start(ask(fairness, GREEDY), "greedy")
            await asyncio.sleep(0.1)
            answer = await fairness.handle(Request("GET", "/api/v1/pods"), MODEST)
            assert isinstance(answer, Response)
            assert (answer.code, answer.headers["retry-after"]) == (429, "1")
            assert b'"reason":"TooManyRequests"' in answer.body

    run_virtual(main())


def test_who_waits_too_long_is_sent_away_and_leaves_no_trace() -> None:
    async def main() -> None:
        fairness = Fairness(Slow(), Limits(reading=1, waiting_seconds=0.5))
        async with Supervisor("clients") as clients:
            first = clients.start(ask(fairness, GREEDY), "greedy")
            await asyncio.sleep(0.1)
            assert await ask(fairness, MODEST) == 429
            assert await first == 200
            assert await ask(fairness, MODEST) == 200

    run_virtual(main())


def test_a_client_that_goes_away_gives_its_seat_back() -> None:
    async def main() -> None:
        fairness = Fairness(Slow(), Limits(reading=1))
        async with Supervisor("clients") as clients:
            running, waiting = (clients.start(ask(fairness, GREEDY), "greedy") for _ in range(2))
            await asyncio.sleep(0.1)
            waiting.cancel()
            running.cancel()
            await asyncio.wait([running, waiting])
            assert await ask(fairness, MODEST) == 200

    run_virtual(main())


def test_reads_do_not_wait_for_writes_and_probes_for_nobody() -> None:
    async def main() -> None:
        slow = Slow()
        fairness = Fairness(slow, Limits(reading=1, writing=1, queued=0))
        async with Supervisor("clients") as clients:
            paths = (("POST", "/api/v1/pods"), ("GET", "/api/v1/pods"), ("GET", "/readyz"), ("GET", "/livez"))
            tasks = [clients.start(ask(fairness, GREEDY, path, method), path) for method, path in paths]
            assert [await task for task in tasks] == [200] * 4
        assert slow.most == 4

    run_virtual(main())


class Quick:
    """Answers at once."""

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        return Response(200, b"")


def test_whoever_asks_too_often_is_told_when_to_come_again_and_nobody_else_is() -> None:
    async def main() -> None:
        fairness = Fairness(Quick(), Limits(per_second=0.5, burst=2))
        assert [await ask(fairness, GREEDY) for _ in range(3)] == [200, 200, 429]
        refused = await fairness.handle(Request("GET", "/api/v1/pods"), GREEDY)
        assert isinstance(refused, Response)
        assert (refused.code, refused.headers["retry-after"]) == (429, "2")
        assert await ask(fairness, MODEST) == 200
        assert await ask(fairness, GREEDY, "/readyz") == 200
        administrator = User("root", ("system:masters",))
        assert {await ask(fairness, administrator) for _ in range(9)} == {200}
        await asyncio.sleep(2)
        assert [await ask(fairness, GREEDY) for _ in range(2)] == [200, 429]

    run_virtual(main())


def test_a_bucket_holds_no_more_than_its_burst_and_the_oldest_user_is_forgotten_first() -> None:
    rates = RateLimiter(per_second=1, burst=1)
    assert rates.wait_seconds("a", 0.0) == 0
    assert rates.wait_seconds("a", 0.25) == 0.75
    assert [rates.wait_seconds("a", 100.0), rates.wait_seconds("a", 100.0)] == [0, 1]
    for number in range(REMEMBERED_USERS):
        rates.wait_seconds(f"user-{number}", 100.0)
    assert rates.wait_seconds("a", 100.0) == 0
