"""Kubernetes' own functions for rules in CEL, all but those that need the CEL library themselves (`patterns.py`).

Kubernetes: apiserver/pkg/cel/library; the same functions.
"""

from leeward.apiserver.cel.authorizer import AUTHORIZER_FUNCTIONS
from leeward.apiserver.cel.formats import FORMAT_FUNCTIONS
from leeward.apiserver.cel.network import NETWORK_FUNCTIONS
from leeward.apiserver.cel.objects import OBJECT_FUNCTIONS
from leeward.apiserver.cel.values import VALUE_FUNCTIONS

FUNCTIONS = (*VALUE_FUNCTIONS, *NETWORK_FUNCTIONS, *FORMAT_FUNCTIONS, *AUTHORIZER_FUNCTIONS, *OBJECT_FUNCTIONS)
