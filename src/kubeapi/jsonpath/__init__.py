"""kubectl's JSONPath: paths that find values, and templates that print what they find.

Kubernetes: client-go/util/jsonpath; same, without `range` and without its other output modes.
"""

from kubeapi.jsonpath.paths import Find, JSONPathError, compile_path
from kubeapi.jsonpath.templates import compile_template, printed

__all__ = ["Find", "JSONPathError", "compile_path", "compile_template", "printed"]
