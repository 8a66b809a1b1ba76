"""Names of servers that somebody else has chosen, resolved and judged: a name must not lead where an address may not.

A name is judged each time that it is resolved, since who owns it may change what it resolves to.
"""

import asyncio
import socket
from ipaddress import ip_address

from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from kubeapi.errors import NoCredential
from leeward.api.rules.member_addresses import AddressRules


class ForbiddenAddress(NoCredential):
    """The name leads to an address to which nothing may be sent; nothing was."""


class JudgedResolver(AbstractResolver):
    """Raises ForbiddenAddress when any of a name's addresses is refused."""

    def __init__(self, rules: AddressRules) -> None:
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


async def judged_addresses(rules: AddressRules | None, host: str, port: int) -> list[str]:
    """All addresses of a name, which may be an address itself. Raises: OSError, ForbiddenAddress."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(address[0]) for *_, address in found]
    for address in addresses:
        if rules is not None:
            judge_address(rules, host, address, port)
    return addresses


def judge_address(rules: AddressRules, host: str, address: str, port: int) -> None:
    """Raises: ForbiddenAddress."""
    if fault := rules.address_fault(ip_address(address), port):
        raise ForbiddenAddress(f"{host} must not be asked: {fault}")
