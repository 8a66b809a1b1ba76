"""Names of servers that somebody else has chosen, resolved and judged: a name must not lead where an address may not.

A name is judged each time that it is resolved, since its owner may change its addresses.
"""

import asyncio
import errno
import socket
from contextlib import suppress
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Protocol

from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from kubeapi.errors import NoCredential

LOOKUP_SECONDS: ContextVar[float | None] = ContextVar("LOOKUP_SECONDS", default=None)
"""Bound on one look-up of a name, for who is to tell a slow resolver from a silent server; else the request's own."""
_MISSING = (socket.EAI_NONAME, socket.EAI_NODATA)
_LOCAL = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL))
_NO_WAY = (errno.EADDRNOTAVAIL, errno.ENETUNREACH, errno.EHOSTUNREACH)


class JudgesAddresses(Protocol):
    """Rules that say where nothing is sent."""

    def address_fault(self, address: IPv4Address | IPv6Address, port: int, /) -> str:
        """The reason why nothing may be sent to `address`, as a sentence; empty when it may."""
        ...


class ForbiddenAddress(NoCredential):
    """The name leads to an address to which nothing may be sent; nothing was."""


class JudgedResolver(AbstractResolver):
    """Raises ForbiddenAddress when any of a name's addresses is refused."""

    def __init__(self, rules: JudgesAddresses) -> None:
        self._rules = rules
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises: OSError, ForbiddenAddress."""
        found = await self._inner.resolve(host, port, family)
        for each in found:
            judge_address(self._rules, host, each["host"], port)
        return found

    async def close(self) -> None:
        await self._inner.close()


async def judged_addresses(rules: JudgesAddresses | None, host: str, port: int) -> list[str]:
    """All addresses of a name, which may be an address itself. Raises: OSError, ForbiddenAddress."""
    addresses = await _addresses(host, port)
    for address in addresses:
        if rules is not None:
            judge_address(rules, host, address, port)
    return addresses


async def _addresses(host: str, port: int) -> list[str]:
    """Raises: OSError, also for a name that is not resolved in time: that is no silence of the server."""
    with suppress(ValueError):
        return [str(ip_address(host))]
    longest = LOOKUP_SECONDS.get()
    bound = asyncio.timeout(longest)
    try:
        async with bound:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        if longest is None or not bound.expired():
            raise
        raise socket.gaierror(socket.EAI_AGAIN, f"{host} was not resolved within {longest:g} s") from None
    return [str(address[0]) for *_, address in found]


def is_local_failure(error: OSError) -> bool:
    """Tells whether the machine of who asks has failed, or the look-up of the name, and not the server. Holds: S13."""
    return _lookup_error(error) is not None or error.errno in _LOCAL


def is_missing_name(error: OSError) -> bool:
    """Tells whether a resolver has answered that the name does not exist."""
    found = _lookup_error(error)
    return found is not None and found.errno in _MISSING


def _lookup_error(error: OSError) -> socket.gaierror | None:
    return next((each for each in (error, error.__cause__) if isinstance(each, socket.gaierror)), None)


def is_of_the_address(error: OSError) -> bool:
    """Tells whether another address of the same name may do better."""
    return isinstance(error, ConnectionError) or error.errno in _NO_WAY


def more_telling(before: OSError | None, error: OSError) -> OSError:
    """The error of a name of which several addresses have failed: the server's own comes before one of this machine."""
    return error if before is None or is_local_failure(before) else before


def judge_address(rules: JudgesAddresses, host: str, address: str, port: int) -> None:
    """Raises: ForbiddenAddress."""
    if fault := rules.address_fault(ip_address(address), port):
        raise ForbiddenAddress(f"{host} must not be asked: {fault}")
