"""The table of flags: it has Karmada's, its defaults are those of the settings, and its document says the same."""

import sys
from pathlib import Path
from typing import Any

import pytest

from leeward.app.flags.left_out import LEFT_OUT
from leeward.app.flags.parsing import Address, parse_address, parse_duration
from leeward.app.flags.settings import ComponentSettings, defaults_of, settings_of
from leeward.app.flags.table import BY_NAME, COMPONENTS, FLAGS, FlagProblem, flags_of
from leeward.manager.timing import Timing
from tests.flags_page import render

ROOT = Path(__file__).parents[3]


def karmada_flags() -> set[str]:
    """Names of all flags of Karmada's components, with hyphens."""
    lines = (ROOT / "tests/data/karmada_flags.txt").read_text().splitlines()
    return {name.replace("_", "-") for line in lines if line[0] != "#" for name in line.partition(": ")[2].split()}


def setting_at(settings: object, path: str) -> Any:
    for name in path.split("."):
        settings = getattr(settings, name)
    return settings


def test_nothing_is_both_there_and_left_out() -> None:
    assert set(BY_NAME) & set(LEFT_OUT) == set()
    assert len(BY_NAME) == len(FLAGS)


def test_a_flag_that_karmada_has_not_is_marked_as_ours() -> None:
    assert karmada_flags() & {flag.name for flag in FLAGS if flag.ours} == set()
    karmadas = {flag.name for flag in FLAGS if not flag.ours}
    assert karmadas - karmada_flags() == set()


@pytest.mark.parametrize("flag", [f for f in FLAGS if f.default and f.path], ids=lambda flag: flag.name)
def test_the_default_that_is_told_is_the_default_of_the_setting(flag: Any) -> None:
    for component in flag.components:
        assert flag.read(flag.default_of(component)) == setting_at(defaults_of(component), flag.path), component


def test_the_document_says_what_the_table_says() -> None:
    assert (ROOT / "docs/flags.md").read_text() == render()


def test_a_flag_changes_its_own_setting_and_no_other() -> None:
    settings = settings_of("serve", {"cluster-failure-threshold": "1m30s", "resource-eviction-rate": "0.5"})
    assert settings.manager.timing == Timing(cluster_failure_threshold=90)
    assert settings.manager.eviction.per_second == 0.5
    assert settings.leader == ComponentSettings().leader


def test_karmada_exact_sets_all_switches_and_each_can_still_be_set_by_itself() -> None:
    exact = settings_of("scheduler", {"brake": "true", "karmada-exact": "true"}).manager
    assert exact.brake.enabled
    assert not exact.safety.keep_without_place
    assert settings_of("scheduler", {"karmada-exact": "false"}) == defaults_of("scheduler")


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ({"cluster-failure-threshold": "30"}, "--cluster-failure-threshold: '30' is no duration: write 2s"),
        ({"cluster-monitor-grace-period": "0s"}, "--cluster-monitor-grace-period: it must be longer than 0s"),
        ({"feature-gates": "Failover"}, "--feature-gates: 'Failover' has no value: write Failover=true"),
        ({"feature-gates": "Failover=yes"}, "--feature-gates: 'yes' is neither true nor false"),
        ({"no-execute-taint-eviction-purge-mode": "Never"}, "'Never' is neither Gracefully nor Directly"),
        ({"unhealthy-cluster-threshold": "55"}, "--unhealthy-cluster-threshold: 55 is not between 0 and 1"),
        ({"unhealthy-cluster-minimum": "0"}, "--unhealthy-cluster-minimum: '0' is no whole number of at least 1"),
        ({"resource-eviction-rate": "-1"}, "--resource-eviction-rate: '-1' is no number of 0 or more"),
        ({"skipped-propagating-namespaces": "kube-("}, "'kube-\\(' is no regular expression"),
        ({"default-not-ready-toleration-seconds": "5m"}, "'5m' is no whole number of seconds"),
        ({"metrics-bind-address": "8080"}, "--metrics-bind-address: '8080' is no address: write :8080"),
        ({"leader-elect-renew-deadline": "20s"}, "--leader-elect-renew-deadline: it must be longer than"),
        ({"controllers": "*,taint-manager"}, "--controllers: taint-manager: the scheduler does it here"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_value_names_the_flag_and_the_way_out(flags: dict[str, str], problem: str) -> None:
    with pytest.raises(FlagProblem, match=problem):
        settings_of("serve", flags)


def test_traces_need_an_optional_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_of("serve", {"trace-evictions": "true"}).manager.trace_evictions
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    with pytest.raises(FlagProblem, match=r"--trace-evictions: .* run: pip install 'leeward\[tracing\]'"):
        settings_of("serve", {"trace-evictions": "true"})
    assert not settings_of("serve", {"trace-evictions": "false"}).manager.trace_evictions


def test_the_halves_run_beside_a_scheduler_that_only_places() -> None:
    flags = {"controllers": "*,taint-manager,gracefulEviction", "enable-taint-manager": "false"}
    manager = settings_of("serve", flags).manager
    assert not manager.whole_decision().evict
    assert manager.halves().evict


def test_the_scheduler_is_no_controller_of_the_controller_manager() -> None:
    assert not defaults_of("controller-manager").manager.controllers.runs("scheduler")
    with pytest.raises(FlagProblem, match="run `leeward scheduler`"):
        settings_of("controller-manager", {"controllers": "*,scheduler"})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("1m30s", 90), ("1.5h", 5_400), ("100ms", 0.1), ("2m0.5s", 120.5), (".5s", 0.5), ("250us", 0.00025)],
)
def test_durations_are_written_as_in_go(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "-5s", "5 s", "s", "1m30", "1d"])
def test_what_go_would_not_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration: write"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8080", Address("", 8080)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("[::1]:9", Address("::1", 9)),
        ("0", None),
    ],
)
def test_an_address_is_a_host_and_a_port_or_nowhere(text: str, address: Address | None) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_default_can_be_written_out(component: Any) -> None:
    flags = {flag.name: default for flag in flags_of(component) if (default := flag.default_of(component))}
    assert settings_of(component, flags) == defaults_of(component)
