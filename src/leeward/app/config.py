"""Configuration that each component of a fleet is started with.

Plain data: whoever composes a component (`control_plane`, `member`, `agent`) reads nothing else, no environment and no
defaults of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from leeward.api.rules.member_addresses import Network
from leeward.manager.timing import Timing

if TYPE_CHECKING:
    from leeward.app.flags.settings import ComponentSettings
    from leeward.manager.settings import ManagerSettings

Report = Literal["KubeCredentials", "KubeImpersonator"]
REPORTS: tuple[Report, ...] = ("KubeCredentials", "KubeImpersonator")
"""Secrets of a Pull member that its agent can report."""
SIGNING_KEY_FILE = "service-account.key"
"""File in `data_dir` with what signs the service account tokens of a cluster."""
AUDIT_FILE = "audit.log"
"""File in `data_dir` that tells who asked the control plane for what."""
IMPERSONATOR = "karmada-impersonator"
"""Name, in a member, of the user that speaks for the users of the cluster proxy; its account and ClusterRole where it
joined."""
SPEAKER_ACCESS = "system:karmada:impersonator"
"""Name, in a local member, of the ClusterRole that lets the group of that user speak for others, also after an
unjoin."""
MEMBER_ACCESS = "system:karmada:member-access"
"""Name, in a member, of the group that the control plane or the agent is in, and the ClusterRole that it is bound
to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneConfig:
    """`data_dir` holds `store.db`; it listens on 127.0.0.1. `ready` is called once, when everything is served.

    `member_addresses` are networks that members may be in although they are refused otherwise. `member_ports` are those
    of the fleet's own members, by name.
    """

    data_dir: Path
    port: int
    tls_cert_file: Path
    tls_private_key_file: Path
    client_ca_file: Path
    client_ca_key_file: Path
    token_file: Path
    settings: "ManagerSettings"
    member_addresses: tuple[Network, ...] = ()
    member_ports: Mapping[str, int] = field(default_factory=dict[str, int])
    ready: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberConfig:
    """One member cluster. `faults_file` may be absent; see `leeward.app.local.faults`."""

    name: str
    data_dir: Path
    port: int
    tls_cert_file: Path
    tls_private_key_file: Path
    client_ca_file: Path
    token_file: Path
    impersonator_token_file: Path
    faults_file: Path
    timing: Timing
    nodes: int
    load_balancers: bool
    ready: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription:
    """Fields of a Cluster's spec that its agent fills in when it joins; empty ones are left out."""

    api_endpoint: str = ""
    proxy_url: str = ""
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """The agent of a Pull member. `ready` is called once, when it is at work: the control plane answered. `described`
    is what it says of its cluster when it joins.

    Without a kubeconfig of the member it is reached as a Pod's own cluster is; an empty context is the current one.
    """

    cluster: str
    control_plane_kubeconfig: Path
    control_plane_context: str
    control_plane_servers: tuple[str, ...] = ()
    member_kubeconfig: Path | None
    member_context: str
    settings: "ComponentSettings"
    renews_certificate: bool
    ready: Callable[[], None] = lambda: None
    described: ClusterDescription = ClusterDescription()
    reports: tuple[Report, ...] = ()
    """Secrets of the member that it reports to the control plane."""
    kubeconfig_secret: str = ""
    """Secret of the member that a renewed kubeconfig of the control plane is kept in; empty: in its file."""
