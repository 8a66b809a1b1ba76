"""Scheme of the kinds that are served, right now: the built-in ones, and those of the installed definitions.

The scheme only knows; `apiextensions/definitions.py` decides what is installed.
"""

from collections.abc import Iterable, Iterator, Sequence

from kubeserver.kinds.kind import Kind


class Scheme:
    """Kinds by where they are served. Changes at runtime, always within one step of the loop."""

    def __init__(self, builtin: Iterable[Kind]) -> None:
        self._builtin = {(kind.group, kind.version, kind.plural): kind for kind in builtin}
        self._builtin_groups = {kind.group for kind in self._builtin.values()}
        self._custom: dict[str, tuple[Kind, ...]] = {}
        self.generation = 0
        self._serve(dict(self._builtin))

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._served.get((group, version, plural))

    def kind_of(self, group: str, plural: str) -> Kind:
        """Kind that must be there, in its preferred version. Raises: LookupError."""
        found = next((kind for kind in self.kinds_of_group(group) if kind.plural == plural), None)
        if found is None:
            raise LookupError(f"{plural}.{group} is not served")
        return found

    def find_kind(self, api_version: str, kind_name: str) -> Kind | None:
        """The kind that an ownerReference or a manifest names."""
        return self._by_name.get((api_version, kind_name))

    def install(self, definition: str, kinds: tuple[Kind, ...]) -> None:
        """Serves the kinds of one definition, instead of those that it had before."""
        if self._custom.get(definition, ()) is kinds:
            return
        if kinds:
            self._custom[definition] = kinds
        else:
            self._custom.pop(definition, None)
        custom = {(k.group, k.version, k.plural): k for ks in self._custom.values() for k in ks}
        self._serve({**self._builtin, **custom})
        self.generation += 1

    def _serve(self, served: dict[tuple[str, str, str], Kind]) -> None:
        self._served = served
        self._versions: dict[str, Sequence[str]] = {}
        self._by_name: dict[tuple[str, str], Kind] = {}
        self._by_group: dict[str, list[Kind]] = {}
        for kind in served.values():
            self._by_name.setdefault((kind.api_version, kind.kind), kind)
            self._by_group.setdefault(kind.group, []).append(kind)

    def is_builtin_group(self, group: str) -> bool:
        return group in self._builtin_groups

    def kinds(self) -> Iterator[Kind]:
        yield from self._served.values()

    def stored_kinds(self) -> Iterator[Kind]:
        """One kind for each set of stored objects, in the version that is stored where that is served."""
        seen: dict[str, Kind] = {}
        for kind in self._served.values():
            if not (kind.ephemeral or kind.derived):
                known = seen.setdefault(kind.prefix, kind)
                if known.custom and kind.version == kind.storage_version:
                    seen[kind.prefix] = kind
        yield from seen.values()

    def kinds_of_group(self, group: str) -> Sequence[Kind]:
        return self._by_group.get(group, ())

    def versions_of_group(self, group: str) -> Sequence[str]:
        """The preferred one first: stable before beta before alpha, then the higher."""
        found = self._versions.get(group, ())
        if not found and (kinds := self.kinds_of_group(group)):
            versions = {kind.version for kind in kinds}
            found = self._versions[group] = sorted(versions, key=version_rank, reverse=True)
        return found

    def groups(self) -> list[str]:
        """Names of all groups but the core group, the built-in ones first."""
        return [group for group in self._by_group if group]

    def __contains__(self, kind: Kind) -> bool:
        return self._served.get((kind.group, kind.version, kind.plural)) is kind


def version_rank(version: str) -> tuple[int, int, int]:
    """Orders `v2`, `v1`, `v2beta1`, `v1alpha1`, and anything else."""
    digits = version.removeprefix("v")
    for stability, word in ((1, "beta"), (0, "alpha")):
        major, found, minor = digits.partition(word)
        if found and major.isdigit():
            return (stability, int(major), int(minor) if minor.isdigit() else 0)
    return (2, int(digits), 0) if digits.isdigit() else (-1, 0, 0)
