"""Gates that a binding waits for, looked at (`gates`), and the order of a template behind its dependencies."""

from leeward.controllers.gates.gates import GatePlace, Gates

__all__ = ["GatePlace", "Gates"]
