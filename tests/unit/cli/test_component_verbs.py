"""The verbs that run a component: what they refuse before they start."""

import gc
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from kubeapi.codec import render_yaml
from leeward.cli.component import YOUNG_OBJECTS, calm_collector
from leeward.cli.flags import left_out_flags, tell_left_out
from leeward.cli.program import main

Run = Callable[..., str]


@pytest.fixture
def complaint(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the program, which must refuse, and gives what it says."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    def call(*arguments: object, code: int = 1) -> str:
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        assert end.value.code == code
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
        (("scheduler", "--scheduler-estimator-key-file=k"), "-cert-file and --scheduler-estimator-key-file: give both"),
        (
            ("descheduler", "--scheduler-estimator-cert-file=c", "--scheduler-estimator-key-file=k"),
            "--scheduler-estimator-cert-file: a certificate is shown over TLS alone",
        ),
        (("scheduler-estimator", "--cluster-name=a", "--grpc-client-ca-file=c"), "--grpc-client-ca-file: certificates"),
        (("scheduler-estimator", "--cluster-name=a", "--server-port=0"), "--server-port: '0' is no port"),
        (("agent", "--cluster-name=Ä", "--karmada-kubeconfig=k"), "--cluster-name: 'Ä': it must be a DNS label"),
        (
            ("agent", "--cluster-name=a", "--karmada-kubeconfig=k", "--leader-elect-renew-deadline=1s"),
            "--leader-elect-renew-deadline: it must be longer",
        ),
        (("agent", "--cluster-name=a"), "Missing option '--karmada-kubeconfig'"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_mistake_is_named_with_its_flag(complaint: Run, arguments: tuple[str, ...], problem: str) -> None:
    assert problem in complaint(*arguments, code=2)


def test_an_estimator_asks_for_a_certificate_and_names_the_file_that_it_cannot_read(
    complaint: Run, tmp_path: Path
) -> None:
    cluster, user = {"server": "https://127.0.0.1:1"}, {"token": "t"}
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "m", "user": "u"}}],
        "clusters": [{"name": "m", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    (tmp_path / "kubeconfig").write_text(render_yaml(config))
    said = complaint("scheduler-estimator", "--cluster-name=a", f"--kubeconfig={tmp_path / 'kubeconfig'}")
    assert "give --grpc-auth-cert-file and --grpc-auth-key-file, or --insecure" in said
    (tmp_path / "tls.crt").touch()
    flags = {"kubeconfig": "kubeconfig", "grpc-auth-cert-file": "tls.crt", "grpc-auth-key-file": "tls.key"}
    said = complaint(
        "scheduler-estimator", "--cluster-name=a", *(f"--{name}={tmp_path / file}" for name, file in flags.items())
    )
    assert f"--grpc-auth-key-file: {tmp_path / 'tls.key'}: No such file or directory" in said


def test_help_tells_the_default_of_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["scheduler", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "How long others wait after a renewal that they saw. [default: 15s]" in told
    assert "Where /healthz and /readyz are served; 0: nowhere. [default: :10351]" in told
    assert "--vmodule" not in told, "what is taken and not used is not shown"


KARMADA_COMMANDS = (
    "controller-manager --kubeconfig=none --metrics-bind-address=10.0.0.1:8080 "
    "--health-probe-bind-address=10.0.0.1:10357 --cluster-status-update-frequency=10s --failover-eviction-timeout=30s "
    "--controllers=*,hpaScaleTargetMarker,deploymentReplicasSyncer --feature-gates=PropagationPolicyPreemption=true "
    "--v=4",
    "scheduler --kubeconfig=none --metrics-bind-address=10.0.0.1:8080 --health-probe-bind-address=10.0.0.1:10351 "
    "--enable-scheduler-estimator=true --scheduler-estimator-ca-file=/ca.crt --scheduler-estimator-cert-file=/tls.crt "
    "--scheduler-estimator-key-file=/tls.key --v=4",
    "descheduler --kubeconfig=none --metrics-bind-address=10.0.0.1:8080 --health-probe-bind-address=10.0.0.1:10358 "
    "--leader-elect-resource-namespace=karmada-system --scheduler-estimator-ca-file=/ca.crt "
    "--scheduler-estimator-cert-file=/tls.crt --scheduler-estimator-key-file=/tls.key --v=4",
    "scheduler-estimator --kubeconfig=none --cluster-name=member1 --metrics-bind-address=10.0.0.1:8080 "
    "--health-probe-bind-address=10.0.0.1:10351 --grpc-auth-cert-file=/tls.crt --grpc-auth-key-file=/tls.key "
    "--grpc-client-ca-file=/ca.crt --parallelism=16 --v=4",
    "webhook --kubeconfig=none --bind-address=10.0.0.1 --metrics-bind-address=10.0.0.1:8080 --secure-port=8443 "
    "--health-probe-bind-address=10.0.0.1:8000 --cert-dir=/pki --feature-gates=AllAlpha=true,AllBeta=true "
    "--allow-no-execute-taint-policy=true --logging-format=json --v=4",
    "agent --karmada-kubeconfig=none --karmada-context=karmada --cluster-name=member3 --cluster-region=eu "
    "--cluster-provider=x --cluster-zones=a,b --cluster-api-endpoint=https://10.0.0.2 --report-secrets=None "
    "--cluster-namespace=karmada-cluster --cluster-status-update-frequency=10s --logtostderr -v 4",
    "agent --karmada-kubeconfig=none --cluster-name=member3 --cluster-api-endpoint=https://10.0.0.2 "
    "--cluster-provider= --cluster-region= --cluster-zones= --controllers=*,certRotation --proxy-server-address= "
    "--leader-elect-resource-namespace=karmada-system --cluster-namespace=karmada-cluster --feature-gates= "
    "--cluster-status-update-frequency=10s --metrics-bind-address=:8080 "
    "--health-probe-bind-address=0.0.0.0:10357 --leader-elect --v=4",
)
"""Commands of Karmada's own Deployments, with the flags that its users add; the last is what `karmadactl register`
makes (pkg/karmadactl/register/register.go, makeKarmadaAgentDeployment)."""


@pytest.mark.parametrize(
    "command",
    KARMADA_COMMANDS,
    ids=["controller-manager", "scheduler", "descheduler", "estimator", "webhook", "agent", "registered-agent"],
)
def test_the_command_of_karmadas_deployment_starts(
    complaint: Run, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing but the kubeconfig is missing; what is not used is told in one line."""
    with caplog.at_level("INFO"):
        assert "none: cannot be read" in complaint(*command.split())


def test_what_is_written_and_not_used_is_told_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    @click.command()
    @left_out_flags("scheduler")
    @click.pass_context
    def verb(context: click.Context) -> None:
        tell_left_out(context)

    with caplog.at_level("INFO"):
        verb.main(["--v=4", "--plugins", "*", "--logtostderr"], standalone_mode=False)
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith("not used: --logtostderr (the log is written to standard error")
    assert "; --plugins (all plug-ins filter and score); --v (" in told


def test_what_is_imported_is_not_looked_through_for_garbage() -> None:
    thresholds, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        calm_collector()
        assert gc.get_threshold() == (YOUNG_OBJECTS, *thresholds[1:])
        assert gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
