"""The verbs that run a component: what they refuse before they start."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leeward.cli.program import main

Run = Callable[..., str]


@pytest.fixture
def complaint(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the program, which must refuse, and gives what it says."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    def call(*arguments: object) -> str:
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        assert end.value.code == 1
        return capsys.readouterr().err

    return call


@pytest.mark.parametrize("verb", ["controller-manager", "scheduler", "serve"])
def test_a_component_must_know_its_control_plane(complaint: Run, verb: str, tmp_path: Path) -> None:
    assert "--kubeconfig: is not given, and this is no Pod" in complaint(verb)
    missing = tmp_path / "none"
    assert f"{missing}: cannot be read" in complaint(verb, "--kubeconfig", missing)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("scheduler", "--leader-elect-lease-duration=soon"), "--leader-elect-lease-duration: 'soon' is no duration"),
        (("scheduler", "--controllers=*"), "No such option"),
        (("controller-manager", "--controllers=nobody"), "--controllers: there is no controller 'nobody'"),
        (("serve", "--leader-elect=maybe"), "--leader-elect: 'maybe' is neither true nor false"),
        (("serve", "--leader-elect-lease-duration", "5s"), "--leader-elect-renew-deadline: it must be longer"),
        (("up", "--failover-eviction-timeout=-1s"), "--failover-eviction-timeout: '-1s' is no duration"),
        (("agent", "--cluster-name=Ä", "--karmada-kubeconfig=k"), "--cluster-name: 'Ä': it must be a DNS label"),
        (("agent", "--cluster-name=a"), "Missing option '--karmada-kubeconfig'"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_mistake_is_named_with_its_flag(complaint: Run, arguments: tuple[str, ...], problem: str) -> None:
    assert problem in complaint(*arguments)


def test_help_tells_the_default_of_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["scheduler", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "How long others wait after a renewal that they saw. [default: 15s]" in told
    assert "[scheduler: :10351]" in told
