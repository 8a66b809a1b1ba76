"""The audit log: what it tells, and what it never does."""

import asyncio
import stat
from pathlib import Path

import pytest

from kubeapi import codec
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual
from kubeapi.transport import Request, Response
from kubeserver.handler import REJECTED, User
from kubeserver.handlers.audit import Audit, AuditFile
from tests.kubeserver.api_world import CONFIG_MAPS, ApiWorld, config_map, tell

ADMIN = User("root", ("system:masters",), "7")


def test_a_request_is_told_with_who_what_and_how_it_ended() -> None:
    async def story(world: ApiWorld) -> None:
        lines: list[bytes] = []
        audit = Audit(world.server, lines.append, VirtualClock(), Randomness(1))
        headers = {"accept": "application/json", "content-type": "application/json", "user-agent": "kubectl"}
        query = {"fieldManager": "me", "token": "s3cret"}
        body = codec.encode(config_map("a", key="s3cret"))
        await audit.handle(Request("POST", CONFIG_MAPS, query, {**headers, "authorization": "s3cret"}, body), ADMIN)
        await audit.handle(Request("GET", f"{CONFIG_MAPS}/b", {}, {**headers, "impersonate-user": "bob"}), ADMIN)
        await audit.handle(Request("GET", "/readyz"), ADMIN)
        created, read = (codec.decode_manifest(line) for line in lines)
        assert created.pop("auditID") != read["auditID"]
        assert created == {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "stage": "ResponseComplete",
            "requestURI": f"{CONFIG_MAPS}?fieldManager=me",
            "verb": "create",
            "user": {"username": "root", "uid": "7", "groups": ["system:masters"]},
            "userAgent": "kubectl",
            "objectRef": {"resource": "configmaps", "namespace": "default"},
            "responseStatus": {"code": 201},
            "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
            "stageTimestamp": "2026-01-01T00:00:00.000000Z",
        }
        assert (read["impersonatedUser"]["username"], read["responseStatus"]) == ("bob", {"code": 403})
        assert b"s3cret" not in b"".join(lines)

    tell(story)


def test_a_request_whose_client_goes_away_is_told_of() -> None:
    class Slow:
        async def handle(self, request: Request, user: User) -> Response:
            await asyncio.sleep(60)
            raise AssertionError("nobody waits for so long")

    async def story() -> None:
        lines: list[bytes] = []
        audit = Audit(Slow(), lines.append, VirtualClock(), Randomness(1))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await audit.handle(Request("DELETE", f"{CONFIG_MAPS}/a"), ADMIN)
        [event] = (codec.decode_manifest(line) for line in lines)
        assert (event["verb"], event["objectRef"]["name"]) == ("delete", "a")
        assert event["responseStatus"] == {
            "status": "Failure",
            "message": "the request ended before it was answered",
        }

    run_virtual(story())


def test_a_wrong_credential_is_refused_and_told():
    async def story(world: ApiWorld) -> None:
        lines: list[bytes] = []
        audit = Audit(world.server, lines.append, VirtualClock(), Randomness(1))
        answers = [await audit.handle(Request("GET", path), REJECTED) for path in (CONFIG_MAPS, "/version", "/nowhere")]
        assert [answer.code for answer in answers] == [401, 401, 401]
        told = [codec.decode_manifest(line) for line in lines]
        assert [(event.get("user"), event["responseStatus"]["code"]) for event in told] == [({}, 401), ({}, 401)]

    tell(story)


def test_the_file_is_for_its_owner_and_begins_anew_when_it_is_full(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "audit.log"
    file = AuditFile(path, max_bytes=20)
    for number in range(3):
        file(b"a line, number %d" % number)
    file.close()
    assert path.read_bytes() == b"a line, number 2\n"
    assert path.with_name("audit.log.1").read_bytes() == b"a line, number 1\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_as_many_full_files_are_kept_as_were_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    file = AuditFile(path, max_bytes=10, backups=2)
    for number in range(5):
        file(b"line %d" % number)
    file.close()
    kept = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    assert kept == {"audit.log": b"line 4\n", "audit.log.1": b"line 3\n", "audit.log.2": b"line 2\n"}


def test_a_log_that_cannot_be_written_is_said_once_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    file = AuditFile(tmp_path / "file" / "audit.log")
    file(b"one")
    file(b"two")
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        f"the audit log {tmp_path / 'file' / 'audit.log'} cannot be written"
    ]
