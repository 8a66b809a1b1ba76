"""Randomness as an argument: seeded in tests and simulation, from the operating system in production."""

import random

_FREE_BITS = ~(0xF << 76 | 0x3 << 62)
_VERSION_4 = 0x4 << 76 | 0x2 << 62
"""The bits of a UUID that say which kind it is."""


class Randomness:
    """Draws uids, suffixes and jitter. `seed=None` draws from the operating system."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.SystemRandom() if seed is None else random.Random(seed)

    def uid(self) -> str:
        """A random UUID (version 4)."""
        bits = self._random.getrandbits(128) & _FREE_BITS | _VERSION_4
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def suffix(self, length: int = 5) -> str:
        """Letters as Kubernetes appends them to `generateName`."""
        return "".join(self._random.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(length))

    def jitter(self, seconds: float, fraction: float = 0.1) -> float:
        """`seconds`, made longer by up to `fraction` of it."""
        return seconds * (1 + fraction * self._random.random())

    def token(self) -> str:
        """32 hexadecimal characters."""
        return f"{self._random.getrandbits(128):032x}"
