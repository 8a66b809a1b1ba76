"""Library that scripts get from `require("kube")`: sums of quantities, and the requests and names of a pod template.

Karmada: pkg/resourceinterpreter/customized/declarative/luavm/kube.go; the same functions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubeapi.codec import to_wire
from kubeapi.quantity import format_like, parse_quantity
from kubeapi.unstructured import mapping_at
from leeward.core.interpreter import InterpretationError
from leeward.core.interpreter.dependencies import pod_dependencies
from leeward.core.interpreter.thirdparty.pod_templates import pod_template, requirements

_EXACT = 2**53


def resource_add(arguments: Sequence[Any]) -> str:
    """The sum of quantities, in the format of the first that is not zero. Raises: InterpretationError."""
    texts = [_quantity(each) for each in arguments if each is not None]
    amounts = [parse_quantity(text) for text in texts]
    format_of = next((text for text, amount in zip(texts, amounts, strict=True) if amount), "0")
    return format_like(format_of, sum(amounts, start=parse_quantity("0")))


def get_resource_quantity(arguments: Sequence[Any]) -> float | int:
    """The amount of one quantity, which may not be negative. Raises: InterpretationError."""
    _expect(arguments, 1)
    amount = parse_quantity(_quantity(arguments[0]))
    if amount < 0:
        raise InterpretationError("the quantity is negative")
    return int(amount) if amount == amount.to_integral_value() and amount < _EXACT else float(amount)


def accurate_pod_requirements(arguments: Sequence[Any]) -> Any:
    """Requirements of one pod of a template, None when that is nothing. Raises: InterpretationError."""
    _expect(arguments, 1)
    return to_wire(requirements(pod_template({"template": arguments[0]}, "template")))


def get_pod_dependencies(arguments: Sequence[Any]) -> Any:
    """Objects that pods of a template name, in a namespace. Raises: InterpretationError."""
    _expect(arguments, 2)
    template, namespace = arguments
    if isinstance(namespace, int | float) and not isinstance(namespace, bool):
        namespace = f"{namespace:g}"
    if namespace is not None and not isinstance(namespace, str):
        raise InterpretationError("the namespace must be a text")
    spec = mapping_at(pod_template({"template": template}, "template"), "spec")
    if not template:
        raise InterpretationError("the template is empty")
    return to_wire(pod_dependencies(spec, "default" if namespace is None else namespace))


def _quantity(value: Any) -> str:
    try:
        parse_quantity(value if isinstance(value, str) else "")
    except ValueError as error:
        raise InterpretationError(f"{value!r} is no quantity such as '100m'") from error
    return value


def _expect(arguments: Sequence[Any], count: int) -> None:
    if len(arguments) != count:
        raise InterpretationError(f"it needs {count} arguments, not {len(arguments)}")


LIBRARY: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "resourceAdd": resource_add,
    "getResourceQuantity": get_resource_quantity,
    "accuratePodRequirements": accurate_pod_requirements,
    "getPodDependencies": get_pod_dependencies,
}
"""Library by the names that scripts know."""
