"""The thread beside the loop: one piece of work after the other, and every outcome comes back."""

import asyncio
import threading

import pytest

from kubeserver.store.worker import Worker


def test_pieces_are_done_one_after_the_other_on_one_other_thread() -> None:
    async def main() -> list[tuple[int, int]]:
        worker, done = Worker("test"), list[tuple[int, int]]()
        pieces = [worker.run(lambda n=n: done.append((n, threading.get_ident()))) for n in range(20)]
        await asyncio.gather(*pieces)
        worker.end()
        return done

    done = asyncio.run(main())
    assert [number for number, _ in done] == list(range(20))
    assert len({thread for _, thread in done} - {threading.get_ident()}) == 1


def test_what_a_piece_raises_is_raised_where_it_is_awaited_and_the_next_one_is_done() -> None:
    async def main() -> int:
        worker = Worker("test")
        with pytest.raises(ZeroDivisionError):
            await worker.run(lambda: 1 // 0)
        answer = await worker.run(lambda: 42)
        worker.end()
        return answer

    assert asyncio.run(main()) == 42


def test_a_piece_is_finished_although_nobody_waits_for_it_any_more() -> None:
    async def main() -> list[str]:
        worker, begin, done = Worker("test"), threading.Event(), list[str]()

        def piece() -> None:
            begin.wait()
            done.append("piece")

        worker.run(piece).cancel()
        begin.set()
        await worker.run(lambda: done.append("next"))
        worker.end()
        return done

    assert asyncio.run(main()) == ["piece", "next"]


def test_a_loop_that_is_closed_meanwhile_does_no_harm_to_the_thread() -> None:
    begin = threading.Event()

    async def leave(worker: Worker) -> None:
        worker.run(begin.wait)

    async def main(worker: Worker) -> str:
        begin.set()
        return await worker.run(lambda: "alive")

    worker = Worker("test")
    asyncio.run(leave(worker))
    assert asyncio.run(main(worker)) == "alive"
    worker.end()


def test_its_thread_has_a_name_and_keeps_no_process_from_ending() -> None:
    async def main() -> tuple[str, bool]:
        worker = Worker("the-name")
        try:
            return await worker.run(lambda: (threading.current_thread().name, threading.current_thread().daemon))
        finally:
            worker.end()

    assert asyncio.run(main()) == ("the-name", True)
