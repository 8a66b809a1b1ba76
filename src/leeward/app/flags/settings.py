"""The settings of a component, and how flags become them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from kubeclient.limits import Limit
from leeward.answers.resilience import coverage_of
from leeward.api.rules.member_addresses import Network
from leeward.app.flags.parsing import Address
from leeward.app.flags.table import BY_NAME, Component, FlagProblem
from leeward.estimator.access import EstimatorAccess
from leeward.manager.choice import BY_DEFAULT, DESCHEDULER, HALVES, MEMBER_SIDE, SCHEDULER, Choice
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.runtime.sharding import LeaderSettings

METRICS_ADDRESS = Address("", 8080)
HEALTH_ADDRESS = Address("", 10_357)
ESTIMATOR_ADDRESS = Address("", 10_352)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Addresses at which a component serves; None is nowhere."""

    metrics: Address | None = METRICS_ADDRESS
    health: Address | None = HEALTH_ADDRESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of the requests that a component makes, to each member apart; and the addresses, beyond the usual ones, to
    which they may go."""

    control_plane: Limit = field(default_factory=Limit)
    members: Limit = field(default_factory=Limit)
    member_addresses: tuple[Network, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimation:
    """Settings of an estimator: where it serves, what it shows, and who may ask: those with a certificate of
    `client_authority`."""

    address: Address = ESTIMATOR_ADDRESS
    certificate: Path | None = None
    key: Path | None = None
    client_authority: Path | None = None
    skip_client_verify: bool = False
    insecure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSettings:
    """Number of shards beside a leader, and what of these this process is: one shard, the leader alone, or (None) the
    leader that starts a process for each shard."""

    count: int = 1
    only: int | Literal["leader"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentSettings:
    """`estimators` are those that are asked, `estimation` is for an estimator itself."""

    manager: ManagerSettings = field(default_factory=ManagerSettings)
    leader: LeaderSettings = field(default_factory=LeaderSettings)
    shards: ShardSettings = field(default_factory=ShardSettings)
    serving: Serving = field(default_factory=Serving)
    limits: Limits = field(default_factory=Limits)
    estimators: EstimatorAccess = field(default_factory=EstimatorAccess)
    estimation: Estimation = field(default_factory=Estimation)
    karmada_exact: bool = False


_RUN_BY_DEFAULT: Mapping[Component, tuple[str, ...]] = {
    "controller-manager": BY_DEFAULT,
    "scheduler": (SCHEDULER,),
    "agent": MEMBER_SIDE,
    "serve": (*BY_DEFAULT, SCHEDULER),
    "up": (*BY_DEFAULT, SCHEDULER),
    "descheduler": (DESCHEDULER,),
    "scheduler-estimator": (),
}


_SERVING_BY_DEFAULT: Mapping[Component, Serving] = {
    "scheduler": Serving(metrics=Address("", 8081), health=Address("", 10_351)),
    "agent": Serving(metrics=Address("", 8082), health=Address("", 10_358)),
    "descheduler": Serving(metrics=Address("", 8084), health=Address("", 10_354)),
    "scheduler-estimator": Serving(metrics=Address("", 8083), health=Address("", 10_353)),
}


KARMADA_PROBE_PORTS: Mapping[Component, int] = {
    "controller-manager": 10_357,
    "scheduler": 10_351,
    "agent": 10_357,
    "descheduler": 10_358,
    "scheduler-estimator": 10_351,
}
"""Ports at which the kubelet asks Karmada's components where --secure-port is not written.

Karmada: cmd/*/app/options/options.go (defaultPort), charts/karmada/templates (livenessProbe), both of 1.4."""


def defaults_of(component: Component, timing: Timing | None = None) -> ComponentSettings:
    manager = ManagerSettings(
        timing=timing or Timing(),
        controllers=Choice(by_default=frozenset(_RUN_BY_DEFAULT[component])),
        survey_losses=coverage_of,
    )
    return ComponentSettings(
        manager=manager,
        serving=_SERVING_BY_DEFAULT.get(component, Serving()),
        estimators=EstimatorAccess(enabled=component == "descheduler"),
    )


def settings_of(component: Component, texts: Mapping[str, str], timing: Timing | None = None) -> ComponentSettings:
    """The settings that flags ask for, by their names. Raises: FlagProblem."""
    settings: Any = defaults_of(component, timing)
    values = {name: BY_NAME[name].read(text) for name, text in texts.items()}
    if values.pop("karmada-exact", False):
        settings = replace(settings, karmada_exact=True, manager=settings.manager.karmada_exact())
    host, port = values.pop("bind-address", None), values.pop("secure-port", None)
    settings = _with_bind_address(component, settings, host, port)
    for name, value in values.items():
        if path := BY_NAME[name].path:
            settings = _with(settings, path, value)
    _refuse_contradictions(component, settings)
    return settings


def _with_bind_address(component: Component, settings: Any, host: str | None, port: int | None) -> Any:
    """`settings` with the probes where the kubelet asks for them, in the manifests of Karmada's older releases."""
    if host is None and port is None:
        return settings
    return _with(settings, "serving.health", Address(host or "", port or KARMADA_PROBE_PORTS[component]))


def _with(settings: Any, path: str, value: Any) -> Any:
    """`settings` with the setting at `path` replaced."""
    section, _, rest = path.partition(".")
    return replace(settings, **{section: _with(getattr(settings, section), rest, value) if rest else value})


def _refuse_contradictions(component: Component, settings: ComponentSettings) -> None:
    leader, manager = settings.leader, settings.manager
    if not leader.retry_seconds < leader.renew_seconds < leader.lease_seconds:
        raise FlagProblem(
            "--leader-elect-renew-deadline: it must be longer than --leader-elect-retry-period and shorter than "
            "--leader-elect-lease-duration"
        )
    _refuse_lone_shards(settings)
    _refuse_half_a_certificate(settings)
    chosen = manager.controllers
    if chosen.runs(SCHEDULER) and chosen.any_of(HALVES) and manager.eviction.taint_manager:
        named = ", ".join(name for name in HALVES if chosen.runs(name))
        raise FlagProblem(
            f"--controllers: {named}: the scheduler does it here: leave it out, or add --enable-taint-manager=false"
        )
    if component == "controller-manager" and chosen.runs(SCHEDULER):
        raise FlagProblem("--controllers: the scheduler is a component of its own: run `leeward scheduler`")


def _refuse_lone_shards(settings: ComponentSettings) -> None:
    shards = settings.shards
    if shards.count > 1 and not settings.leader.enabled:
        raise FlagProblem(
            "--shards: shards work on the strength of their leader's lease: leave out --leader-elect=false"
        )
    if shards.only is not None and shards.count == 1:
        raise FlagProblem("--shard: say with --shards how many there are, the same number for all of them")
    if isinstance(shards.only, int) and shards.only >= shards.count:
        raise FlagProblem(f"--shard: of {shards.count} shards the last is {shards.count - 1}, since the first is 0")


def _refuse_half_a_certificate(settings: ComponentSettings) -> None:
    asked, served = settings.estimators, settings.estimation
    for prefix, certificate, key in (
        ("scheduler-estimator", asked.certificate, asked.key),
        ("grpc-auth", served.certificate, served.key),
    ):
        if (certificate is None) != (key is None):
            raise FlagProblem(f"--{prefix}-cert-file and --{prefix}-key-file: give both, or neither")
    if asked.certificate is not None and asked.authority is None and not asked.skip_verify:
        raise FlagProblem(
            "--scheduler-estimator-cert-file: a certificate is shown over TLS alone: give "
            "--scheduler-estimator-ca-file, too"
        )
    if served.client_authority is not None and served.certificate is None:
        raise FlagProblem(
            "--grpc-client-ca-file: certificates are asked for over TLS alone: give "
            "--grpc-auth-cert-file and --grpc-auth-key-file, too"
        )
