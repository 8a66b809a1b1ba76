"""Karmada's own manifests start with Leeward's image: every flag, gate and controller that they may name is known.

The names are facts of Karmada's releases, in tests/data/karmada_flags.txt; what is missing here fails by its name.
"""

from pathlib import Path

import click
import pytest

from leeward.app.flags.parsing import Address, parse_controllers, parse_feature_gates
from leeward.app.flags.settings import settings_of
from leeward.cli.flags import written_flags
from leeward.cli.program import program
from leeward.manager.choice import ABSENT
from leeward.manager.gates import GateProblem

ROOT = Path(__file__).parents[3]
TABLE = [
    line.partition(": ")
    for line in (ROOT / "tests/data/karmada_flags.txt").read_text().splitlines()
    if not line.startswith("#")
]
RELEASES = {head: names.split() for head, _, names in TABLE}
REPEATED = [
    ("controller-manager", "controllers", ["-binding", "-bindingStatus", "*"]),
    ("controller-manager", "skipped-propagating-namespaces", ["a", "b-.*"]),
    ("scheduler", "feature-gates", ["Failover=false", "PropagateDeps=false"]),
]
"""Flags that Karmada reads as lists (pflag's StringSlice, component-base's feature gates)."""
GATES = (
    *("AllAlpha=false", "AllBeta=true", "ContextualLogging=true", "ControllerPriorityQueue=true"),
    *("CustomizedClusterResourceModeling=true", "Failover=false", "FederatedQuotaEnforcement=false"),
    *("GracefulEviction=true", "LoggingAlphaOptions=false", "LoggingBetaOptions=true", "MultiClusterService=false"),
    *("MultiplePodTemplatesScheduling=false", "PriorityBasedScheduling=false", "PropagateDeps=true"),
    *("PropagationPolicyPreemption=false", "ResourceQuotaEstimate=false", "StatefulFailoverInjection=false"),
    "WorkloadAffinity=false",
)
"""Gates of Karmada 1.17 as they are there by default (--help of its components)."""
CONTROLLERS = (
    *("agentcsrapproving", "applicationFailover", "binding", "bindingStatus", "cluster", "clusterStatus"),
    *("clustertaintpolicy", "cronFederatedHorizontalPodAutoscaler", "deploymentReplicasSyncer"),
    *("endpointSlice", "endpointsliceCollect", "endpointsliceDispatch", "execution"),
    *("federatedHorizontalPodAutoscaler", "federatedResourceQuotaEnforcement", "federatedResourceQuotaStatus"),
    *("federatedResourceQuotaSync", "gracefulEviction", "hpa", "hpaReplicasSyncer", "hpaScaleTargetMarker"),
    *("multiclusterservice", "namespace", "remedy", "serviceExport", "serviceImport", "unifiedAuth"),
    *("workStatus", "workloadRebalancer"),
)
"""Controllers of Karmada 1.4 to 1.17 (cmd/controller-manager/app/controllermanager.go)."""

TOGETHER = {"binding": "-bindingStatus", "bindingStatus": "-binding", "cluster": "-clustertaintpolicy"}
"""Controllers that are one here, or a part of one: they are switched off together."""


def verb(name: str) -> click.Command:
    command = program.get_command(click.Context(program), name)
    assert command is not None
    return command


def context_of(name: str, *arguments: str) -> click.Context:
    """The context of a verb as its arguments make it; nothing runs."""
    command = verb(name)
    return command.make_context(name, list(arguments))


def required(name: str) -> list[str]:
    return [f"{option.opts[0]}=a" for option in verb(name).params if option.required]


@pytest.mark.parametrize("release", RELEASES)
def test_a_component_takes_every_flag_of_karmadas(release: str) -> None:
    component = release.split()[0]
    known = {option for parameter in verb(component).params for option in parameter.opts}
    assert [name for name in RELEASES[release] if f"--{name.replace('_', '-')}" not in known] == []


@pytest.mark.parametrize("component", sorted({release.split()[0] for release in RELEASES}))
def test_a_flag_may_be_written_with_underscores(component: str) -> None:
    context_of(component, *required(component), "--log_dir=/tmp", "--add_dir_header", "--enable_pprof=true")


@pytest.mark.parametrize(("component", "flag", "values"), REPEATED, ids=lambda value: str(value)[:30])
def test_a_list_may_be_written_in_parts(component: str, flag: str, values: list[str]) -> None:
    context = context_of(component, *(f"--{flag}={value}" for value in values))
    assert written_flags(context) == {flag: ",".join(values)}


@pytest.mark.parametrize("gate", GATES)
def test_a_gate_may_be_what_it_is_in_karmada(gate: str) -> None:
    parse_feature_gates(gate)


def test_a_gate_that_nobody_knows_is_refused() -> None:
    with pytest.raises(GateProblem, match="there is no feature gate 'Nothing'"):
        parse_feature_gates("Nothing=true")


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_controller_may_be_named_or_is_karmadas_alone(name: str) -> None:
    assert parse_controllers(f"*,-{name},{TOGETHER.get(name, '')}")
    if name in ABSENT:
        with pytest.raises(ValueError, match="leave it out, or run Karmada's beside it"):
            parse_controllers(f"*,{name}")
    else:
        assert parse_controllers(f"*,{name}")


@pytest.mark.parametrize(
    ("component", "flags", "address"),
    [
        ("controller-manager", {"bind-address": "0.0.0.0", "secure-port": "10357"}, Address("0.0.0.0", 10_357)),
        ("scheduler", {"bind-address": "0.0.0.0"}, Address("0.0.0.0", 10_351)),
        ("descheduler", {"bind-address": "10.0.0.1"}, Address("10.0.0.1", 10_358)),
        ("scheduler-estimator", {"bind-address": "::1"}, Address("::1", 10_351)),
        ("agent", {"secure-port": "11000"}, Address("", 11_000)),
        ("agent", {"bind-address": "::1", "health-probe-bind-address": ":1"}, Address("", 1)),
    ],
    ids=lambda value: str(value)[:30],
)
def test_probes_are_where_an_older_manifest_asks_for_them(
    component: str, flags: dict[str, str], address: Address
) -> None:
    """The livenessProbe names Karmada's port, also where the flag for it is left out."""
    assert settings_of(component, flags).serving.health == address  # pyright: ignore[reportArgumentType]


def test_a_negative_rate_is_no_limit() -> None:
    limits = settings_of("scheduler", {"kube-api-qps": "-1"}).limits
    assert limits.control_plane.per_second is None


def test_an_address_of_nothing_serves_nowhere() -> None:
    assert settings_of("scheduler", {"health-probe-bind-address": ""}).serving.health is None


def test_a_scheduler_of_another_name_has_a_lease_of_its_own() -> None:
    settings = settings_of("scheduler", {"scheduler-name": "mine", "leader-elect-resource-name": "my-scheduler"})
    assert settings.leader.name == "my-scheduler"


def test_every_command_of_karmadas_image_is_in_ours() -> None:
    line = next(line for line in (ROOT / "deploy/Dockerfile").read_text().splitlines() if "for verb in" in line)
    assert set(line.split(" in ")[1].split(";")[0].split()) == {release.split()[0] for release in RELEASES}
