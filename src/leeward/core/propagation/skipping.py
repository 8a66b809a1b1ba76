"""Kinds that are never propagated, whatever policies select: the text of --skipped-propagating-apis.

    <group>                      metrics.k8s.io
    <group>/<version>            coordination.k8s.io/v1beta1
    <group>/<version>/<kinds>    coordination.k8s.io/v1/Lease,LeaseCandidate

with semicolons between. Of the core group one writes `v1/<kinds>`.

Karmada: pkg/util/helper (SkippedResourceConfig); same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

ALWAYS = frozenset({"cluster.karmada.io", "policy.karmada.io", "work.karmada.io"})
"""Karmada's own groups are never propagated."""

_EVERY_KIND = frozenset[str]()


class SkippingProblem(ValueError):
    """Fault of the text, for people."""


@dataclass(frozen=True, slots=True)
class SkippedApis:
    """`groups` are skipped as a whole; of an apiVersion the kinds, none named meaning all."""

    groups: frozenset[str] = ALWAYS
    kinds: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def skips(self, api_version: str, kind: str) -> bool:
        group, slash, _ = api_version.rpartition("/")
        if slash and group in self.groups:
            return True
        kinds = self.kinds.get(api_version)
        return kinds is not None and (not kinds or kind in kinds)


def parse_skipped_apis(text: str) -> SkippedApis:
    """Raises: SkippingProblem."""
    groups, kinds = set(ALWAYS), dict[str, frozenset[str]]()
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        match entry.split("/"):
            case [group] if group:
                groups.add(group)
            case ["v1", named] if named:
                kinds["v1"] = kinds.get("v1", _EVERY_KIND) | _kinds(entry, named)
            case [group, version] if group and version:
                kinds[f"{group}/{version}"] = _EVERY_KIND
            case [group, version, named] if group and version and named:
                _add(kinds, f"{group}/{version}", _kinds(entry, named))
            case _:
                raise SkippingProblem(f"{entry!r} is none of <group>, <group>/<version>, <group>/<version>/<kind>,...")
    return SkippedApis(frozenset(groups), kinds)


def _add(kinds: dict[str, frozenset[str]], api_version: str, named: frozenset[str]) -> None:
    """A version that is skipped as a whole stays so."""
    known = kinds.get(api_version)
    kinds[api_version] = named if known is None else known | named if known else _EVERY_KIND


def _kinds(entry: str, named: str) -> frozenset[str]:
    kinds = frozenset(kind.strip() for kind in named.split(","))
    if "" in kinds:
        raise SkippingProblem(f"{entry!r} names a kind without letters: write kinds with commas between")
    return kinds
