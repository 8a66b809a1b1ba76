"""Kubernetes' own functions for rules in CEL, all but those that need the CEL library themselves (`cel_patterns.py`).

Kubernetes: apiserver/pkg/cel/library; the same functions.
"""

from leeward.apiserver.custom.cel_authorizer import AUTHORIZER_FUNCTIONS
from leeward.apiserver.custom.cel_formats import FORMAT_FUNCTIONS
from leeward.apiserver.custom.cel_network import NETWORK_FUNCTIONS
from leeward.apiserver.custom.cel_values import VALUE_FUNCTIONS

FUNCTIONS = (*VALUE_FUNCTIONS, *NETWORK_FUNCTIONS, *FORMAT_FUNCTIONS, *AUTHORIZER_FUNCTIONS)
