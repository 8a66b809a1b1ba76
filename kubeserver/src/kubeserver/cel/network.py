"""Functions of addresses, networks and URLs in CEL."""

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from kubeserver.cel.function import Function, Typed, of
from kubeserver.values import holds

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _ip(text: str) -> Typed:
    return {"ip": str(_read_ip(text))}


def _read_ip(text: str) -> _Address:
    address = ipaddress.ip_address(text)
    if "%" in text or getattr(address, "ipv4_mapped", None) is not None:
        raise ValueError(f"IP Address {text!r} must have no zone and be no IPv4 address in IPv6")
    return address


def _is_canonical(text: str) -> bool:
    return str(_read_ip(text)) == text


def _address(value: Typed) -> _Address:
    if "ip" not in value:
        raise ValueError("is no IP address")
    return ipaddress.ip_address(value["ip"])


def _is_link_local_multicast(address: _Address) -> bool:
    wanted = "224.0.0.0/24" if address.version == 4 else "ff02::/16"
    return address in ipaddress.ip_network(wanted)


def _is_global_unicast(address: _Address) -> bool:
    """Tells whether an address is one as in Go: private addresses count as well."""
    others = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not others and str(address) != "255.255.255.255"


def _cidr(text: str) -> Typed:
    if not re.search(r"/(0|[1-9][0-9]*)\Z", text):
        raise ValueError(f"network address {text!r} has no prefix length")
    _read_ip(text.partition("/")[0])
    return {"cidr": str(ipaddress.ip_interface(text))}


def _network(value: Typed) -> _Network:
    if "cidr" not in value:
        raise ValueError("is no network")
    return ipaddress.ip_interface(value["cidr"])


def _contains_ip(value: Typed, address: str | Typed) -> bool:
    other = _read_ip(address) if isinstance(address, str) else _address(address)
    return other in _network(value).network


def _contains_cidr(value: Typed, network: str | Typed) -> bool:
    own, other = _network(value).network, _network(_cidr(network) if isinstance(network, str) else network).network
    if own.version != other.version:
        return False
    return other.network_address in own and other.prefixlen >= own.prefixlen


_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//(?!/)([^/]*)")
_USERINFO = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_HOST = re.compile(r"""([A-Za-z0-9_.~!$&'()*+,;=:\[\]<>"-]|[^\x00-\x7f]|%[89A-Fa-f][0-9A-Fa-f]|%25)*""")
_NOT_IN_URLS = re.compile(r"[\x00-\x1f\x7f]|%(?![0-9A-Fa-f]{2})")


def read_url(text: str) -> Typed:
    """Go: net/url, ParseRequestURI; the same are refused."""
    parts = urlsplit(text)
    _ = parts.port
    if text == "*":
        return {"url": text}
    if not (parts.scheme or text.startswith("/")):
        raise ValueError(f"URL parse error: {text!r} is neither absolute nor a path")
    rest, _, _ = text.partition("?")
    authority = _AUTHORITY.match(rest)
    userinfo, _, host = authority[1].rpartition("@") if authority else ("", "", "")
    if not _USERINFO.fullmatch(userinfo) or not _HOST.fullmatch(host):
        raise ValueError(f"URL parse error: {text!r} has an invalid authority")
    if _NOT_IN_URLS.search(rest):
        raise ValueError(f"URL parse error: {text!r} has an invalid character or escape")
    return {"url": text}


def _parts(value: Typed) -> SplitResult:
    if "url" not in value:
        raise ValueError("is no URL")
    return urlsplit(value["url"])


def _escaped(path: str) -> str:
    valid = re.fullmatch(r"[A-Za-z0-9_.~$&+,/:;=@!'()*\[\]%-]*", path)
    return path if valid else quote(unquote(path), safe="$&+,/:;=@~")


def _port(parts: SplitResult) -> str:
    return "" if parts.port is None else str(parts.port)


def _query(parts: SplitResult) -> Mapping[str, list[str]]:
    return parse_qs(parts.query, keep_blank_values=True)


_ADDRESSES = (
    Function("isIP", "bool string", holds(_read_ip), member=False),
    Function("ip", "typed string", _ip, member=False),
    Function("ip.isCanonical", "bool string", _is_canonical, member=False),
    Function("family", "int map", of(_address, lambda address: address.version)),
    Function("isUnspecified", "bool map", of(_address, lambda address: address.is_unspecified)),
    Function("isLoopback", "bool map", of(_address, lambda address: address.is_loopback)),
    Function("isLinkLocalUnicast", "bool map", of(_address, lambda address: address.is_link_local)),
    Function("isLinkLocalMulticast", "bool map", of(_address, _is_link_local_multicast)),
    Function("isGlobalUnicast", "bool map", of(_address, _is_global_unicast)),
    Function("isCIDR", "bool string", holds(_cidr), member=False),
    Function("cidr", "typed string", _cidr, member=False),
    Function("containsIP", "bool map string", _contains_ip),
    Function("containsIP", "bool map map", _contains_ip),
    Function("containsCIDR", "bool map string", _contains_cidr),
    Function("containsCIDR", "bool map map", _contains_cidr),
    Function("ip", "typed map", of(_network, lambda network: {"ip": str(network.ip)})),
    Function("masked", "typed map", of(_network, lambda network: {"cidr": str(network.network)})),
    Function("prefixLength", "int map", of(_network, lambda network: network.network.prefixlen)),
)
_URLS = (
    Function("isURL", "bool string", holds(read_url), member=False),
    Function("url", "typed string", read_url, member=False),
    Function("getScheme", "string map", of(_parts, lambda parts: parts.scheme)),
    Function("getHost", "string map", of(_parts, lambda parts: parts.netloc.rpartition("@")[2])),
    Function("getHostname", "string map", of(_parts, lambda parts: parts.hostname or "")),
    Function("getPort", "string map", of(_parts, _port)),
    Function("getEscapedPath", "string map", of(_parts, lambda parts: _escaped(parts.path))),
    Function("getQuery", "map map", of(_parts, _query)),
)
NETWORK_FUNCTIONS = (*_ADDRESSES, *_URLS)
