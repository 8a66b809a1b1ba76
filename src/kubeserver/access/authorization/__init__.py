"""Who may do what: RBAC, evaluated from its objects on every request.

    request ▸ `attributes.py`: what it asks for ▸ `gate.py`: as whom (impersonation), and whether ▸ `rbac.py`

`rbac.py` reads roles and bindings from the store and is never behind it. `rules.py` is the pure half: what a rule
matches, and which rules cover others. `escalation.py` sees to it that nobody grants more than they have.

Never changes a role, except for those that a new server begins with (`bootstrap.py`).
"""

from kubeserver.access.authorization.attributes import Attributes, attributes_of
from kubeserver.access.authorization.gate import Gate
from kubeserver.access.authorization.port import Authorizer, Decision
from kubeserver.access.authorization.rbac import Rbac

__all__ = ["Attributes", "Authorizer", "Decision", "Gate", "Rbac", "attributes_of"]
