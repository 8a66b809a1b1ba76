"""Standards that count for a namespace: a level and a version for each mode, read from the labels of a namespace.

Always gives a policy. Where a label cannot be read, what is enforced is the strictest, and what would only be said is
not said: a typing error must not open a namespace, and need not fill a log.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from kubeapi.status import Problem

PREFIX = "pod-security.kubernetes.io/"
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]{0,17})")


class Level(IntEnum):
    """Stricter ones are greater."""

    PRIVILEGED = 0
    BASELINE = 1
    RESTRICTED = 2

    def __str__(self) -> str:
        return self.name.lower()


_LEVELS = {str(level): level for level in Level}


@dataclass(frozen=True, slots=True)
class Standard:
    """`minor`: the rules as of Kubernetes 1.`minor`; None for the latest."""

    level: Level = Level.PRIVILEGED
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"


@dataclass(frozen=True, slots=True)
class Policy:
    enforce: Standard = Standard()
    audit: Standard = Standard()
    warn: Standard = Standard()

    @property
    def is_silent(self) -> bool:
        """Tells whether nothing would be said about any object."""
        return self.audit.level == self.warn.level == Level.PRIVILEGED

    @property
    def is_privileged(self) -> bool:
        """Tells whether there is nothing to look for."""
        return self.is_silent and self.enforce.level == Level.PRIVILEGED


def read_policy(labels: Mapping[str, str]) -> tuple[Policy, list[Problem]]:
    """The policy, and what is wrong with the labels. Who enforces and says nothing of warnings warns of the same."""
    problems: list[Problem] = []
    enforce = _read_standard(labels, "enforce", Level.RESTRICTED, problems)
    audit = _read_standard(labels, "audit", Level.PRIVILEGED, problems)
    warn = _read_standard(labels, "warn", Level.PRIVILEGED, problems)
    is_readable = labels.get(f"{PREFIX}enforce") in _LEVELS
    if is_readable and f"{PREFIX}warn" not in labels and enforce.level > warn.level:
        warn = replace(warn, level=enforce.level) if f"{PREFIX}warn-version" in labels else enforce
    return Policy(enforce, audit, warn), problems


def _read_standard(labels: Mapping[str, str], mode: str, unreadable: Level, problems: list[Problem]) -> Standard:
    level = labels.get(f"{PREFIX}{mode}", str(Level.PRIVILEGED))
    if level not in _LEVELS:
        problems.append(Problem.invalid(_field(mode), level, f"must be one of {', '.join(_LEVELS)}"))
    version = labels.get(f"{PREFIX}{mode}-version", "latest")
    match = _VERSION.fullmatch(version)
    if match is None and version != "latest":
        problems.append(Problem.invalid(_field(f"{mode}-version"), version, 'must be "latest" or "v1.x"'))
    return Standard(_LEVELS.get(level, unreadable), int(match[1]) if match else None)


def _field(label: str) -> str:
    return f"metadata.labels[{PREFIX}{label}]"
