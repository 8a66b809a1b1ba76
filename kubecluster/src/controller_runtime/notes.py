"""Note: one thing to tell about one object, before it is an event; and its rank among the others that wait."""

from dataclasses import dataclass
from enum import IntEnum

from kubeapi.core import ObjectReference

NORMAL, WARNING = "Normal", "Warning"


class Rank(IntEnum):
    """Order in which notes are written while others wait.

    MOVE    what became of an application or of a cluster: moved, lost, held, placed
    CHANGE  what else has changed, and what has failed
    STEP    a step on the way that went well. In a burst it is left out, for what the steps led to is told
    """

    MOVE = 0
    CHANGE = 1
    STEP = 2


@dataclass(frozen=True, slots=True)
class Note:
    """`namespace` is that of the users whom it concerns; empty where it is the object's own."""

    component: str
    about: ObjectReference
    type: str
    reason: str
    message: str
    rank: Rank = Rank.CHANGE
    namespace: str = ""

    @property
    def concerned(self) -> str:
        return self.namespace or self.about.namespace


Source = tuple[str, str, str, str, str, str]


def source_of(note: Note) -> Source:
    """The component that tells, and the object of which it tells."""
    about = note.about
    return note.component, about.api_version, about.kind, about.namespace, about.name, about.uid
