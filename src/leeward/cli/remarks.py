"""The remarks on a switch as lines: refusals first, each with its command."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kubeapi.text import shown
from leeward.cli.output import say

if TYPE_CHECKING:
    from leeward.app.migration.review import Remark


def say_remarks(remarks: "Iterable[Remark]") -> None:
    for remark in remarks:
        say(f"{remark.weight.value:<8} {shown(remark.sentence)}")
        if remark.next:
            say(f"{'':<8}   → {shown(remark.next)}")
