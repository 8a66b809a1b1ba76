"""Findings of lint: what a rule notes (`Diagnostic`), and what is told of it (`LintFinding`, `LintReport`)."""

from dataclasses import dataclass
from enum import Enum

import msgspec

from kubeapi.yaml_lines import FieldPath
from leeward.lint.objects import LintObject


class FindingLevel(Enum):
    """SARIF's words, worst first.

    error     a failover does not happen, or not for this
    warning   it happens, and does not help as much as was meant
    note      worth knowing beforehand
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Diagnostic:
    """Note that a rule makes of an object; None is the control plane itself.

    `path` is the field that it is about. `mend` is the way out, where it is another than the rule's. `others` are the
    objects that it is about as well: a finding of any of them can be ignored there.
    """

    about: LintObject | None
    sentence: str
    path: FieldPath = ()
    mend: str = ""
    others: tuple[LintObject, ...] = ()


class LintFinding(msgspec.Struct, frozen=True, rename="camel"):
    """`line` counts from 1, and is 0 where the object is in no file."""

    rule: str
    name: str
    level: FindingLevel
    about: str
    sentence: str
    mend: str
    file: str = ""
    line: int = 0
    field: str = ""


class UnaskedRule(msgspec.Struct, frozen=True, rename="camel"):
    """`in_part`: it was asked, and sees more where what it lacks is there."""

    rule: str
    name: str
    why: str
    in_part: bool = False


class LintReport(msgspec.Struct, frozen=True, rename="camel"):
    """`ignored` findings are not told. `unasked` rules need what was not there, `unseen` is what could not be read."""

    asked: str
    objects: int
    findings: list[LintFinding]
    ignored: int
    unasked: list[UnaskedRule]
    unseen: tuple[str, ...] = ()

    @property
    def needs_somebody(self) -> bool:
        """Tells whether there is more than notes."""
        return any(finding.level is not FindingLevel.NOTE for finding in self.findings)

    def count(self, level: FindingLevel) -> int:
        return sum(finding.level is level for finding in self.findings)


def field_text(path: FieldPath) -> str:
    """`spec.resourceSelectors[0].name`"""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
