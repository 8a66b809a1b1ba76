"""A fleet: its members, ports and timing, in DATA/fleet.json. Whether it runs stands in `processes`."""

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from kubeapi.files import write_file
from leeward.app.config import Timing
from leeward.app.local.errors import FleetError, no_fleet
from leeward.app.local.layout import CONTROL_PLANE, DASHBOARD, Layout, agent_of, problem_of_member_name

FORMAT_VERSION = 1
_RELEASE = re.compile(r"[0-9A-Za-z.+-]{0,40}")

Mode = Literal["push", "pull"]
TimingName = Literal["karmada", "fast"]


class Member(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    name: str
    mode: Mode
    port: int

    @property
    def components(self) -> tuple[str, ...]:
        return (self.name, agent_of(self.name)) if self.mode == "pull" else (self.name,)


class LocalFleet(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    control_plane_port: int
    members: tuple[Member, ...] = ()
    timing: TimingName = "karmada"
    flags: Mapping[str, str] = {}
    """Flags of the components by name, as they were typed."""
    dashboard_port: int = 0
    """0: it has no dashboard."""
    leeward: str = ""
    """The version of Leeward that ran it last; empty where that did not say so."""
    nodes: int = 2
    """Nodes of each member."""
    load_balancers: bool = True
    """Tells whether LoadBalancer Services and Ingresses of members get addresses."""
    version: int = FORMAT_VERSION

    @property
    def components(self) -> tuple[str, ...]:
        members = (component for member in self.members for component in member.components)
        return (CONTROL_PLANE, *members, *((DASHBOARD,) if self.dashboard_port else ()))

    @property
    def timing_values(self) -> Timing:
        return Timing.fast() if self.timing == "fast" else Timing.karmada()

    def member(self, name: str) -> Member:
        """Raises: FleetError."""
        for member in self.members:
            if member.name == name:
                return member
        names = ", ".join(member.name for member in self.members) or "none"
        raise FleetError(f"there is no member {name!r} in this fleet (members: {names})")

    def with_member(self, member: Member) -> "LocalFleet":
        """The fleet with `member` added, or put in the place of the one with its name."""
        if any(old.name == member.name for old in self.members):
            members = tuple(member if old.name == member.name else old for old in self.members)
        else:
            members = (*self.members, member)
        return msgspec.structs.replace(self, members=members)

    def without_member(self, name: str) -> "LocalFleet":
        return msgspec.structs.replace(self, members=tuple(m for m in self.members if m.name != name))


class MemberRequest(msgspec.Struct, frozen=True):
    """A member that was asked for: `NAME[=push|pull]`."""

    name: str
    mode: Mode = "push"


MIN_PORT, MAX_PORT = 1, 65_535
MIN_NODES, MAX_NODES = 1, 100


def problem_of_fleet(fleet: LocalFleet) -> str:
    """Reason for which no fleet is like this, with the field's name; empty when one can be. Names become paths and
    processes."""
    ports = {fleet.control_plane_port: "controlPlanePort"}
    if not MIN_PORT <= fleet.control_plane_port <= MAX_PORT:
        return f"controlPlanePort: {fleet.control_plane_port} is no port from {MIN_PORT} to {MAX_PORT}"
    if fleet.dashboard_port and not MIN_PORT <= fleet.dashboard_port <= MAX_PORT:
        return f"dashboardPort: {fleet.dashboard_port} is no port from {MIN_PORT} to {MAX_PORT}"
    if not MIN_NODES <= fleet.nodes <= MAX_NODES:
        return f"nodes: {fleet.nodes} is no number from {MIN_NODES} to {MAX_NODES}"
    if not _RELEASE.fullmatch(fleet.leeward):
        return f"leeward: {fleet.leeward!r} is no version"
    names = set[str]()
    for index, member in enumerate(fleet.members):
        field = f"members[{index}]"
        if problem := problem_of_member_name(member.name):
            return f"{field}.name: {member.name!r}: {problem}"
        if member.name in names:
            return f"{field}.name: {member.name!r} is there twice"
        if not MIN_PORT <= member.port <= MAX_PORT:
            return f"{field}.port: {member.port} is no port from {MIN_PORT} to {MAX_PORT}"
        if member.port in ports:
            return f"{field}.port: {member.port} is the port of {ports[member.port]}, too"
        names.add(member.name)
        ports[member.port] = f"{field}.port"
    return ""


DEFAULT_MEMBERS = (MemberRequest("member1"), MemberRequest("member2"), MemberRequest("member3", "pull"))


def parse_member(text: str) -> MemberRequest:
    """Reads `NAME[=push|pull]`. Raises: FleetError."""
    name, _, mode = text.partition("=")
    if problem := problem_of_member_name(name):
        raise FleetError(f"a member cannot be called {name!r}: {problem}")
    match mode.lower():
        case "" | "push":
            return MemberRequest(name)
        case "pull":
            return MemberRequest(name, "pull")
        case _:
            raise FleetError(f"member {name}: the mode is {mode!r}, but must be push or pull")


def find_fleet(layout: Layout) -> LocalFleet | None:
    """The fleet in the directory; None when there is none. Raises: FleetError when it cannot be read."""
    try:
        content = layout.fleet_file.read_bytes()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise FleetError(f"{layout.root} is no directory: give another --data-dir") from None
    try:
        _check_version(layout, content)
        fleet = msgspec.json.decode(content, type=LocalFleet)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _damaged(layout, str(error)) from error
    if problem := problem_of_fleet(fleet):
        raise _damaged(layout, problem)
    return fleet


def _damaged(layout: Layout, problem: str) -> FleetError:
    return FleetError(f"{layout.fleet_file} is damaged ({problem}): restore it, or give another --data-dir")


def load_fleet(layout: Layout) -> LocalFleet:
    """Raises: FleetError when there is none, or it cannot be read."""
    fleet = find_fleet(layout)
    if fleet is None:
        raise no_fleet(layout.root)
    return fleet


def save_fleet(layout: Layout, fleet: LocalFleet) -> None:
    write_file(layout.fleet_file, msgspec.json.format(msgspec.json.encode(fleet), indent=2) + b"\n")


class _Versioned(msgspec.Struct):
    version: int


def _check_version(layout: Layout, content: bytes) -> None:
    version = msgspec.json.decode(content, type=_Versioned).version
    if version != FORMAT_VERSION:
        raise FleetError(
            f"{layout.fleet_file} has format {version}, and this version of leeward reads format {FORMAT_VERSION}: "
            "use the version that wrote it, or give another --data-dir"
        )
