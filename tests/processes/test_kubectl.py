"""Every verb of the real kubectl, on a real API server: the transcripts in `transcripts/server`."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.processes.fleet import needs_kubectl
from tests.processes.lone_server import LoneServer, lone_server
from tests.processes.transcripts import parse, play

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts" / "server").glob("*.txt"))

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[LoneServer]:
    with lone_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_kubectl_does_and_says_what_the_transcript_has(server: LoneServer, tmp_path: Path, transcript: Path) -> None:
    """Each in a namespace and with a discovery cache of its own."""
    kubeconfig = tmp_path / "kubeconfig"
    server.write_kubeconfig(kubeconfig, namespace=transcript.stem)
    environment = {"KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    begin = f"$ kubectl create namespace {transcript.stem}\nnamespace/{transcript.stem} created\n"
    play(parse(begin + transcript.read_text()), tmp_path, environment)
