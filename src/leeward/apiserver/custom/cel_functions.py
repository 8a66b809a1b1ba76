"""Kubernetes' own functions for rules in CEL, all of them.

Kubernetes: apiserver/pkg/cel/library; the same functions. Differs: `find` and `findAll` are missing, for a regular
expression that a user brings must be matched in linear time, which only the language's own `matches` does here; and so
are comprehensions with two variables, which the CEL library does not know.
"""

from leeward.apiserver.custom.cel_authorizer import AUTHORIZER_FUNCTIONS
from leeward.apiserver.custom.cel_formats import FORMAT_FUNCTIONS
from leeward.apiserver.custom.cel_network import NETWORK_FUNCTIONS
from leeward.apiserver.custom.cel_values import VALUE_FUNCTIONS

FUNCTIONS = (*VALUE_FUNCTIONS, *NETWORK_FUNCTIONS, *FORMAT_FUNCTIONS, *AUTHORIZER_FUNCTIONS)
