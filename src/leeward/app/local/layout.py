"""Layout of a data directory, and the names of the components.

fleet.json  lock  kubeconfig
dashboard.key               opens the dashboard as the administrator
pki/                        ca.crt ca.key, and a pair for every server and client
control-plane/              store.db tokens.csv
members/NAME/               store.db tokens.csv faults.json agent.kubeconfig
logs/COMPONENT.log
upgrades/from-VERSION-TIME/ COMPONENT.tar: backups from before another version ran it
standby/                    newest.tar before.tar: copies of another control plane; standby.json says how old
run/COMPONENT.json          the process; COMPONENT.ready appears when it serves
"""

import re
from dataclasses import dataclass
from pathlib import Path

from leeward.api.names import RBAC_GENERATOR

CONTROL_PLANE = "control-plane"
DASHBOARD = "dashboard"
CONTROL_PLANE_CONTEXT = "karmada-apiserver"
AUTHORITY = "ca"
ADMIN = "admin"
AGENT_SUFFIX = "-agent"

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
MAX_CLUSTER_NAME = 48
_RESERVED = frozenset({CONTROL_PLANE, DASHBOARD, CONTROL_PLANE_CONTEXT, AUTHORITY, ADMIN, RBAC_GENERATOR})
"""The names of other components, of other pairs in pki/, and of an identity of Karmada's."""


def agent_of(member: str) -> str:
    """The component that is the agent of a Pull member."""
    return member + AGENT_SUFFIX


def problem_of_member_name(name: str) -> str:
    """Reason for which a member cannot be called so; empty when it can."""
    if len(name) > MAX_CLUSTER_NAME or not _LABEL.fullmatch(name):
        return f"it must be a DNS label: lower-case letters, digits and '-', at most {MAX_CLUSTER_NAME} characters"
    if name in _RESERVED or name.endswith(AGENT_SUFFIX):
        return "the name is kept for another component"
    return ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths under one data directory; `root` is absolute."""

    root: Path

    @property
    def fleet_file(self) -> Path:
        return self.root / "fleet.json"

    @property
    def lock_file(self) -> Path:
        return self.root / "lock"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def pki(self) -> Path:
        return self.root / "pki"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def control_plane(self) -> Path:
        return self.root / "control-plane"

    @property
    def control_plane_tokens(self) -> Path:
        return self.control_plane / "tokens.csv"

    @property
    def upgrades(self) -> Path:
        return self.root / "upgrades"

    @property
    def standby(self) -> Path:
        return self.root / "standby"

    @property
    def dashboard_key(self) -> Path:
        return self.root / "dashboard.key"

    def member(self, name: str) -> Path:
        return self.root / "members" / name

    def tokens(self, member: str) -> Path:
        return self.member(member) / "tokens.csv"

    def impersonator_tokens(self, member: str) -> Path:
        return self.member(member) / "impersonator.csv"

    def faults(self, member: str) -> Path:
        return self.member(member) / "faults.json"

    def agent_kubeconfig(self, member: str) -> Path:
        return self.member(member) / "agent.kubeconfig"

    def log(self, component: str) -> Path:
        return self.root / "logs" / f"{component}.log"

    def process_file(self, component: str) -> Path:
        return self.run / f"{component}.json"

    def ready_file(self, component: str) -> Path:
        return self.run / f"{component}.ready"
