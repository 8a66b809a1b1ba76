"""Hooks by which single kinds take part in the life of their objects, beyond what their tables say.

A hook is synchronous, so that nothing comes between what it decides and the write.
"""

from typing import Protocol

from kubeapi.meta import Manifest, ReadOnlyManifest


class Hook(Protocol):
    def before_write(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        """Completes `new` in place before it is checked; `old` is None for a new object. Raises: Refused."""
        ...

    def not_written(self, new: ReadOnlyManifest, old: ReadOnlyManifest | None) -> None:
        """The write that was prepared is not made: it was refused, or only a dry run."""
        ...

    def after_write(self, new: ReadOnlyManifest, old: ReadOnlyManifest | None) -> None:
        """The write is durable."""
        ...

    def after_delete(self, old: ReadOnlyManifest) -> None:
        """The object is gone."""
        ...


class NoHook:
    """Hook for the kinds without one."""

    def before_write(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        del new, old

    def not_written(self, new: ReadOnlyManifest, old: ReadOnlyManifest | None) -> None:
        del new, old

    def after_write(self, new: ReadOnlyManifest, old: ReadOnlyManifest | None) -> None:
        del new, old

    def after_delete(self, old: ReadOnlyManifest) -> None:
        del old
