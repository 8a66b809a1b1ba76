"""Randomness as an argument: seeded in tests and simulation, from the operating system in production."""

import random
import uuid


class Randomness:
    """Draws uids, suffixes and jitter. `seed=None` draws from the operating system."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.SystemRandom() if seed is None else random.Random(seed)

    def uid(self) -> str:
        """A random UUID (version 4)."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        """Letters as Kubernetes appends them to `generateName`."""
        return "".join(self._random.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(length))

    def jitter(self, seconds: float, fraction: float = 0.1) -> float:
        """`seconds`, made longer by up to `fraction` of it."""
        return seconds * (1 + fraction * self._random.random())

    def token(self) -> str:
        """32 hexadecimal characters."""
        return f"{self._random.getrandbits(128):032x}"
