"""Leeward: a control plane for many Kubernetes clusters that keeps applications running when one dies.

`Fleet` and `QuestionError` are Leeward as a library (`leeward.library`); they are imported when somebody asks for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leeward.library import Fleet as Fleet
    from leeward.library import QuestionError as QuestionError

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name in ("Fleet", "QuestionError"):
        return getattr(import_module("leeward.library"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
