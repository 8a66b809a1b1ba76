"""kubectl's JSONPath: paths that find values, and templates that print what they find.

Kubernetes: client-go/util/jsonpath; same, without `range` and without its other output modes, and bounded.
"""

from kubeapi.jsonpath.paths import Find, JSONPathError, PathTooLarge, compile_path
from kubeapi.jsonpath.templates import compile_template, printed

__all__ = ["Find", "JSONPathError", "PathTooLarge", "compile_path", "compile_template", "printed"]
