"""The execution controller of one member: Works become objects there, and leave it.

execution       one Work at a time
member_objects  writes of objects; `missing_kinds` are those that the member does not serve
object_removal  removals of objects; `shared_contents`, `volume_holds` and `blocked_removals` keep some of them
found_removals  removals behind which no decision is known
"""

from leeward.controllers.execution.execution import ExecutionController

__all__ = ["ExecutionController"]
