"""Credentials of a fleet, by which its parts may speak to one another: the pairs of `certificates`, the tokens, and the
kubeconfigs made of them.

The administrator is in `system:masters` everywhere. A member has one token, which the control plane (Push) or the agent
(Pull) shows it; the member lets it do everything by a ClusterRole of its own. Another token may only impersonate: with
it the control plane passes on requests of users through the cluster proxy. An agent has a client certificate for the
control plane under Karmada's name for it, which may touch only the objects of its cluster.
Token files have the form of kube-apiserver's `--token-auth-file`, with one token in each.
"""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kubeapi.codec import render_yaml
from kubeapi.files import write_file
from kubeapi.loop import Randomness, SystemClock
from kubeserver.certificates import Authority, Pair, Unusable
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX
from leeward.app.config import IMPERSONATOR, MEMBER_ACCESS
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, Member
from leeward.app.local.layout import ADMIN, AUTHORITY, CONTROL_PLANE, CONTROL_PLANE_CONTEXT, Layout, agent_of


def ensure_token(path: Path, user: str, group: str, randomness: Randomness) -> None:
    """Makes the file when it is not there."""
    if not path.exists():
        write_file(path, f'{randomness.token()},{user},{randomness.uid()},"{group}"\n')


def read_token(path: Path) -> str:
    """The token in the file. Raises: FleetError."""
    try:
        token = path.read_text().partition(",")[0].strip()
    except OSError as error:
        raise FleetError(f"the token file {path} cannot be read ({error.strerror}): run `leeward up` again") from error
    if not token:
        raise FleetError(f"the token file {path} is empty: delete it, and `leeward up` makes it anew")
    return token


ADMIN_GROUP = "system:masters"


def issue_credentials(layout: Layout, fleet: LocalFleet, randomness: Randomness) -> None:
    """Makes credentials that are missing or about to end, and writes the kubeconfigs anew. Raises: FleetError."""
    try:
        authority = Authority(layout.pki, SystemClock().now(), "leeward-ca")
        _issue(layout, fleet, randomness, authority)
    except Unusable as error:
        raise FleetError(str(error)) from error
    write_kubeconfig(layout, fleet)


def _issue(layout: Layout, fleet: LocalFleet, randomness: Randomness, authority: Authority) -> None:
    authority.server(CONTROL_PLANE)
    authority.client(ADMIN, ADMIN, (ADMIN_GROUP,))
    ensure_token(layout.control_plane_tokens, ADMIN, ADMIN_GROUP, randomness)
    for member in fleet.members:
        authority.server(member.name)
        user = "karmada-agent" if member.mode == "pull" else "karmada-controller-manager"
        ensure_token(layout.tokens(member.name), user, MEMBER_ACCESS, randomness)
        ensure_token(layout.impersonator_tokens(member.name), IMPERSONATOR, IMPERSONATOR, randomness)
        if member.mode == "pull":
            _issue_agent(layout, fleet, member, authority)


def write_kubeconfig(layout: Layout, fleet: LocalFleet) -> None:
    """DATA/kubeconfig: the administrator, with one context for each cluster of the fleet."""
    admin = _certificate_user(Pair.in_directory(layout.pki, ADMIN))
    servers = {CONTROL_PLANE_CONTEXT: fleet.control_plane_port} | {m.name: m.port for m in fleet.members}
    _write(layout, layout.kubeconfig, servers, {ADMIN: admin}, dict.fromkeys(servers, ADMIN))


def delete_credentials(layout: Layout, member: str) -> None:
    for name in (member, agent_of(member)):
        Pair.in_directory(layout.pki, name).delete()


def _issue_agent(layout: Layout, fleet: LocalFleet, member: Member, authority: Authority) -> None:
    agent = agent_of(member.name)
    pair = authority.client(agent, AGENT_USER_PREFIX + member.name, (AGENT_GROUP,))
    servers = {CONTROL_PLANE_CONTEXT: fleet.control_plane_port, member.name: member.port}
    users = {agent: _certificate_user(pair), member.name: {"token": read_token(layout.tokens(member.name))}}
    contexts = {CONTROL_PLANE_CONTEXT: agent, member.name: member.name}
    _write(layout, layout.agent_kubeconfig(member.name), servers, users, contexts)


def _write(
    layout: Layout,
    path: Path,
    servers: Mapping[str, int],
    users: Mapping[str, Mapping[str, str]],
    contexts: Mapping[str, str],
) -> None:
    authority = _inline(Pair.in_directory(layout.pki, AUTHORITY).certificate)
    kubeconfig: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTROL_PLANE_CONTEXT,
        "clusters": _named(
            "cluster",
            [
                (name, {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": authority})
                for name, port in servers.items()
            ],
        ),
        "users": _named("user", list(users.items())),
        "contexts": _named("context", [(name, {"cluster": name, "user": user}) for name, user in contexts.items()]),
    }
    try:
        write_file(path, render_yaml(kubeconfig))
    except OSError as error:
        raise FleetError(f"{path} cannot be written ({error.strerror}): move away what is there") from error


def _named(key: str, entries: Sequence[tuple[str, Mapping[str, str]]]) -> list[dict[str, Any]]:
    return [{"name": name, key: dict(entry)} for name, entry in entries]


def _certificate_user(pair: Pair) -> dict[str, str]:
    return {"client-certificate-data": _inline(pair.certificate), "client-key-data": _inline(pair.key)}


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
