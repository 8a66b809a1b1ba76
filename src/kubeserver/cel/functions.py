"""Kubernetes' own functions for rules in CEL, all but those that need the CEL library themselves (`patterns.py`).

Kubernetes: apiserver/pkg/cel/library; the same functions.
"""

from kubeserver.cel.authorizer import AUTHORIZER_FUNCTIONS
from kubeserver.cel.formats import FORMAT_FUNCTIONS
from kubeserver.cel.network import NETWORK_FUNCTIONS
from kubeserver.cel.objects import OBJECT_FUNCTIONS
from kubeserver.cel.values import VALUE_FUNCTIONS

FUNCTIONS = (*VALUE_FUNCTIONS, *NETWORK_FUNCTIONS, *FORMAT_FUNCTIONS, *AUTHORIZER_FUNCTIONS, *OBJECT_FUNCTIONS)
