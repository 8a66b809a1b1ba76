"""Authorization by RBAC, evaluated from its objects on every request.

    request ▸ `attributes.py`: what it asks for ▸ `gate.py`: as whom (impersonation), and whether ▸ `rbac.py`

`rbac.py` reads roles and bindings from the store and is never behind it. `rules.py` is the pure half: what a rule
matches, and which rules cover others. `admission.escalation` sees to it that nobody grants more than they have.

Never changes a role, except for those that a new server begins with (`bootstrap.py`).
"""

from kubeserver.auth.authorization.attributes import Attributes, attributes_of
from kubeserver.auth.authorization.gate import Gate
from kubeserver.auth.authorization.interface import Authorizer, Decision
from kubeserver.auth.authorization.rbac import Rbac, RulesOfUser, no_rules
from kubeserver.auth.authorization.rules import Rule

__all__ = ["Attributes", "Authorizer", "Decision", "Gate", "Rbac", "Rule", "RulesOfUser", "attributes_of", "no_rules"]
