"""The components of a fleet as processes: the command that starts each, and the configuration it then reads."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from kubeserver.certificates import Pair
from leeward.app.config import AgentConfig, ControlPlaneConfig, MemberConfig, Timing
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, Member
from leeward.app.local.layout import AGENT_SUFFIX, CONTROL_PLANE, CONTROL_PLANE_CONTEXT, DASHBOARD, Layout, agent_of

if TYPE_CHECKING:
    from leeward.app.flags.settings import ComponentSettings


def command_of(layout: Layout, component: str) -> list[str]:
    """`leeward run ...` in the foreground, with the Python that runs now."""
    if component in (CONTROL_PLANE, DASHBOARD):
        what = [component]
    elif component.endswith(AGENT_SUFFIX):
        what = ["agent", component.removesuffix(AGENT_SUFFIX)]
    else:
        what = ["member", component]
    return [sys.executable, "-m", "leeward.cli", "run", *what, "--data-dir", str(layout.root)]


def control_plane_config(layout: Layout, fleet: LocalFleet, event_ttl: float | None = None) -> ControlPlaneConfig:
    """`event_ttl`, in seconds, where it is not that of the fleet."""
    all_settings = settings_of_fleet(fleet)
    settings = all_settings.manager
    pair, authority = Pair.in_directory(layout.pki, CONTROL_PLANE), Pair.in_directory(layout.pki, "ca")
    return ControlPlaneConfig(
        data_dir=layout.control_plane,
        port=fleet.control_plane_port,
        tls_cert_file=pair.certificate,
        tls_private_key_file=pair.key,
        client_ca_file=authority.certificate,
        client_ca_key_file=authority.key,
        token_file=layout.control_plane_tokens,
        settings=replace(settings, timing=_keeping(settings.timing, event_ttl)),
        member_addresses=all_settings.limits.member_addresses,
        member_ports={member.name: member.port for member in fleet.members},
        ready=_report_ready(layout, CONTROL_PLANE),
    )


def member_config(layout: Layout, fleet: LocalFleet, member: Member, event_ttl: float | None = None) -> MemberConfig:
    """`event_ttl`, in seconds, where it is not that of the fleet."""
    pair = Pair.in_directory(layout.pki, member.name)
    return MemberConfig(
        name=member.name,
        data_dir=layout.member(member.name),
        port=member.port,
        tls_cert_file=pair.certificate,
        tls_private_key_file=pair.key,
        client_ca_file=Pair.in_directory(layout.pki, "ca").certificate,
        token_file=layout.tokens(member.name),
        impersonator_token_file=layout.impersonator_tokens(member.name),
        faults_file=layout.faults(member.name),
        timing=_keeping(fleet.timing_values, event_ttl),
        nodes=fleet.nodes,
        load_balancers=fleet.load_balancers,
        ready=_report_ready(layout, member.name),
    )


def agent_config(layout: Layout, fleet: LocalFleet, member: Member) -> AgentConfig:
    """Raises: FleetError when the member has no agent."""
    if member.mode != "pull":
        raise FleetError(f"{member.name} is a Push member: it has no agent")
    kubeconfig = layout.agent_kubeconfig(member.name)
    return AgentConfig(
        cluster=member.name,
        control_plane_kubeconfig=kubeconfig,
        control_plane_context=CONTROL_PLANE_CONTEXT,
        member_kubeconfig=kubeconfig,
        member_context=member.name,
        settings=_settings_of_agent(fleet),
        renews_certificate=False,
        ready=_report_ready(layout, agent_of(member.name)),
    )


def _keeping(timing: Timing, event_ttl: float | None) -> Timing:
    return timing if event_ttl is None else replace(timing, event_ttl=event_ttl)


def settings_of_fleet(fleet: LocalFleet) -> "ComponentSettings":
    """Raises: FleetError when its flags contradict each other, or one of them cannot be read."""
    from leeward.app.flags.settings import settings_of
    from leeward.app.flags.table import FlagProblem, flags_of

    if unknown := sorted(fleet.flags.keys() - {flag.name for flag in flags_of("up")}):
        raise FleetError(f"flags: `leeward up` has no flag {unknown[0]!r}: start the fleet anew without it")
    try:
        return settings_of("up", fleet.flags, fleet.timing_values)
    except FlagProblem as error:
        raise FleetError(f"{error}: give the flag again with `leeward up`") from error


def _settings_of_agent(fleet: LocalFleet) -> "ComponentSettings":
    """Settings by those of the fleet's flags that an agent has; it serves only its member, and is alone there."""
    from leeward.app.flags.settings import Serving, settings_of
    from leeward.app.flags.table import flags_of
    from leeward.runtime.sharding import LeaderSettings

    settings_of_fleet(fleet)
    names = {flag.name for flag in flags_of("agent")}
    flags = {name: text for name, text in fleet.flags.items() if name in names}
    settings = settings_of("agent", flags, fleet.timing_values)
    return replace(settings, serving=Serving(metrics=None, health=None), leader=LeaderSettings(enabled=False))


def _report_ready(layout: Layout, component: str) -> Callable[[], None]:
    def report() -> None:
        layout.run.mkdir(parents=True, exist_ok=True, mode=0o700)
        layout.ready_file(component).touch()

    return report
