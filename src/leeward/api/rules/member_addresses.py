"""Addresses that a Cluster may name: where the control plane sends requests and credentials of members.

Whoever may write a Cluster chooses where the control plane connects to. So `spec.apiEndpoint` and `spec.proxyURL` lead
neither to the control plane itself, nor to the services that a cloud gives its machines on link-local addresses, and
not over plain HTTP unless the Cluster asks for that. Names are judged by what they resolve to, at the time of use.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from kubeapi.field import Node, Problems
from kubeapi.urls import proxy_scheme_fault, split_url
from leeward.api.names import ALLOW_HTTP_ANNOTATION

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

METADATA_ADDRESSES = tuple(
    map(ip_address, ("169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"))
)
"""Addresses at which clouds serve credentials to their machines; most are link-local, these are those that are
known."""
METADATA_HOSTS = frozenset(("metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"))
_WAY_OUT = "an administrator can allow it by --allowed-member-addresses"
_PORTS = {"http": 80, "https": 443, "socks5": 1080}
_EMBEDDED_IPV4 = (ip_network("64:ff9b::/96"), ip_network("::/96"))
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")


@dataclass(frozen=True, slots=True)
class AddressRules:
    """`own` are host and port of the control plane itself; `allowed` are exceptions for all else that is refused.

    `loopback`: members may be on loopback addresses, as those of a local fleet are.
    """

    allowed: tuple[Network, ...] = ()
    own: tuple[tuple[str, int], ...] = ()
    loopback: bool = True

    def address_fault(self, address: Address, port: int) -> str:
        """The reason why nothing may be sent to `address`, as a sentence; empty when it may."""
        address = _plain(address)
        if any(port == own_port and _is_same(address, own) for own, own_port in self.own):
            return f"{address} port {port} is the control plane itself, which is no member"
        if address.is_unspecified or address.is_multicast:
            return f"{address} is no address of a server"
        if any(address in network for network in self.allowed):
            return ""
        if address in METADATA_ADDRESSES:
            return f"{address} is a metadata service; {_WAY_OUT}"
        if address.is_link_local:
            return f"{address} is link-local; {_WAY_OUT}"
        if address.is_loopback and not self.loopback:
            return f"{address} is a loopback address of the control plane's machine; {_WAY_OUT}"
        return ""

    def host_fault(self, host: str, port: int) -> str:
        """Fault of a host as it is written; a name may resolve to what is refused, which is asked at its use."""
        host = host.lower().rstrip(".")
        if (address := _parsed(host)) is not None:
            return self.address_fault(address, port)
        if _NUMBER.fullmatch(host.rpartition(".")[2]):
            return f"{host!r} is a number in place of a name: write the address as 192.0.2.1 or [2001:db8::1]"
        if (host, port) in self.own:
            return f"{host} port {port} is the control plane itself, which is no member"
        if host in METADATA_HOSTS and not self.allowed:
            return f"{host} is a metadata service; {_WAY_OUT}"
        if (host == "localhost" or host.endswith(".localhost")) and any(
            port == own_port and _is_loopback(own) for own, own_port in self.own
        ):
            return f"{host} port {port} is the control plane itself, which is no member"
        return ""

    def url_fault(self, text: str) -> str:
        """Fault of the host of a URL; empty for what is no URL."""
        url = split_url(text)
        if url is None or not url.hostname:
            return ""
        return self.host_fault(url.hostname, url.port or _PORTS.get(url.scheme, 0))


DEFAULT_RULES = AddressRules()
"""Rules where nothing is known of the control plane's own address."""


def plain_http_fault(endpoint: str, allowed: bool) -> str:
    """The reason why `endpoint` is not spoken to in the clear; empty when it is no http:// URL, or is `allowed`."""
    url = split_url(endpoint)
    if allowed or url is None or url.scheme != "http":
        return ""
    return (
        "over http:// everybody on the way can read the credential: use https://, or set the annotation "
        f'{ALLOW_HTTP_ANNOTATION}: "true" on the Cluster'
    )


def address_problems(cluster: Node, old: Node, rules: AddressRules) -> Problems:
    """The problems of where a Cluster leads.

    What has not changed is judged at its use, and keeps no other change out. So is loopback: the endpoint of a Pull
    member is its agent's.
    """
    rules = replace(rules, loopback=True)
    spec, before = cluster["spec"], old["spec"]
    allowed = cluster["metadata"]["annotations"].mapping.get(ALLOW_HTTP_ANNOTATION) == "true"
    was_allowed = old["metadata"]["annotations"].mapping.get(ALLOW_HTTP_ANNOTATION) == "true"
    endpoint, proxy = spec["apiEndpoint"], spec["proxyURL"]
    changed = endpoint.text != before["apiEndpoint"].text or allowed < was_allowed
    if changed and (fault := plain_http_fault(endpoint.text, allowed)):
        yield endpoint.invalid(fault)
    if proxy.text != before["proxyURL"].text and (fault := proxy_scheme_fault(proxy.text)):
        yield proxy.invalid(fault)
    for field, previous in ((endpoint, before["apiEndpoint"]), (proxy, before["proxyURL"])):
        if field.text != previous.text and (fault := rules.url_fault(field.text)):
            yield field.invalid(fault)


def parse_networks(text: str) -> tuple[Network, ...]:
    """Networks and single addresses with commas between. Raises: ValueError that names what is none."""
    return tuple(ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip())


def is_loopback_host(host: str) -> bool:
    return host in ("localhost", "") or _is_loopback(host)


def rules_of_control_plane(
    server: str, resolved: Sequence[str] = (), allowed: tuple[Network, ...] = ()
) -> AddressRules:
    """The rules beside a control plane at the URL `server`, whose name resolves to the addresses `resolved`."""
    url = urlsplit(server)
    host, port = (url.hostname or "").rstrip("."), url.port or _PORTS.get(url.scheme, 0)
    own = tuple((each, port) for each in dict.fromkeys((host, *resolved)))
    return AddressRules(allowed, own, any(map(is_loopback_host, (host, *resolved))))


def _plain(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one that leads to it; no zone."""
    if isinstance(address, IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and any(address in network for network in _EMBEDDED_IPV4) and int(address) > 1:
        inner = IPv4Address(int(address) & 0xFFFFFFFF)
    return inner if inner is not None else IPv6Address(int(address))


def _is_same(address: Address, own: str) -> bool:
    """All loopback addresses, and the one that stands for all addresses of a machine, are one place."""
    parsed = _parsed(own)
    if parsed is None:
        return False
    if parsed.is_loopback or parsed.is_unspecified:
        return address.is_loopback or address.is_unspecified
    return address == _plain(parsed)


def _is_loopback(host: str) -> bool:
    address = _parsed(host)
    return address is not None and _plain(address).is_loopback


def _parsed(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
