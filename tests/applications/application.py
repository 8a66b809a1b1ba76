"""An application as its user keeps it: a directory with its templates, its policies, and a change of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kubeapi.codec import parse_yaml
from kubeapi.meta import Manifest

HERE = Path(__file__).parent
FIRST = ("Namespace", "CustomResourceDefinition")
"""Kinds that others live in, which a user applies first."""


@dataclass(frozen=True)
class Application:
    """The directory is called `name`; `change.yaml` says what a new release has otherwise (server-side apply)."""

    name: str

    @property
    def directory(self) -> Path:
        return HERE / self.name

    @cached_property
    def templates(self) -> Sequence[Manifest]:
        return self._read("templates.yaml")

    @cached_property
    def policies(self) -> Sequence[Manifest]:
        return self._read("policies.yaml")

    @cached_property
    def change(self) -> Sequence[Manifest]:
        return self._read("change.yaml")

    @cached_property
    def reports(self) -> Sequence[Manifest]:
        """Statuses that operators in a member give its custom resources: nothing runs there that would."""
        return self._read("reports.yaml") if (self.directory / "reports.yaml").exists() else ()

    @property
    def ends(self) -> Sequence[Manifest]:
        """Last reports of what runs to its end; none where nothing does."""
        return self._read("ends.yaml") if (self.directory / "ends.yaml").exists() else ()

    @property
    def foundations(self) -> list[Manifest]:
        return [each for each in self.templates if each["kind"] in FIRST]

    @property
    def rest(self) -> list[Manifest]:
        return [each for each in self.templates if each["kind"] not in FIRST]

    def _read(self, file: str) -> list[Manifest]:
        return list(parse_yaml((self.directory / file).read_text()))


def applications() -> list[Application]:
    """All there are, by name."""
    return [Application(path.parent.name) for path in sorted(HERE.glob("*/templates.yaml"))]
