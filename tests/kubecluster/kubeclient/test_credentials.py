"""Token files and exec plug-ins."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kubeapi.errors import NoCredential
from kubeclient.credentials import ExecPlugin, ExecToken, TokenFile

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class StillClock:
    def __init__(self) -> None:
        self.instant = NOW

    def now(self) -> datetime:
        return self.instant

    def monotonic(self) -> float:
        return 0.0


def python(script: str) -> ExecPlugin:
    return ExecPlugin(sys.executable, ("-S", "-c", script))


def counting(tmp_path: Path, status: str) -> ExecPlugin:
    """Prints a credential, and leaves a mark each time that it runs."""
    return python(f"open({str(tmp_path / 'runs')!r}, 'a').write('x'); print('{{\"status\": {status}}}')")


def runs(tmp_path: Path) -> int:
    return len((tmp_path / "runs").read_text())


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await story()

    asyncio.run(main())


def test_a_token_file_is_read_anew_each_time(tmp_path: Path) -> None:
    path = tmp_path / "token"

    async def story() -> None:
        source = TokenFile(path)
        for token in ("one", "two"):
            path.write_text(token + "\n")
            assert await source.token() == token
        path.write_text("")
        with pytest.raises(NoCredential, match=r"token file .* is empty"):
            await source.token()
        path.unlink()
        with pytest.raises(NoCredential, match="No such file"):
            await source.token()

    run(story)


def test_a_token_of_a_plugin_is_kept_until_it_expires_or_is_refused(tmp_path: Path) -> None:
    clock = StillClock()
    plugin = counting(tmp_path, '{\\"token\\": \\"t\\", \\"expirationTimestamp\\": \\"2026-01-01T01:00:00Z\\"}')

    async def story() -> None:
        source = ExecToken(plugin, clock)
        assert await asyncio.gather(source.token(), source.token()) == ["t", "t"]
        assert runs(tmp_path) == 1
        clock.instant = NOW + timedelta(minutes=59, seconds=51)
        await source.token()
        assert runs(tmp_path) == 2
        clock.instant = NOW
        source.forget()
        await source.token()
        assert runs(tmp_path) == 3

    run(story)


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (ExecPlugin("/none/login", install_hint="install it"), "/none/login cannot be started: No such .*; install it"),
        (python("import sys; sys.exit('not logged in')"), "ended with code 1: not logged in"),
        (python("print('hello')"), "printed no ExecCredential with a status.token"),
        (python("print('[]')"), "printed no ExecCredential"),
    ],
)
def test_a_plugin_that_fails_says_why(plugin: ExecPlugin, message: str) -> None:
    async def story() -> None:
        with pytest.raises(NoCredential, match=message):
            await ExecToken(plugin, StillClock(), timeout_seconds=60).token()

    run(story)


def test_a_plugin_that_does_not_end_is_ended() -> None:
    async def story() -> None:
        with pytest.raises(NoCredential, match=r"did not finish within 0\.3 s"):
            await ExecToken(python("import time; time.sleep(600)"), StillClock(), timeout_seconds=0.3).token()

    run(story)
