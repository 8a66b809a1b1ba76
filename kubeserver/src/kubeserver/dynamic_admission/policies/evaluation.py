"""Evaluation of a policy's expressions for one request with one parameter.

Variables are evaluated when an expression names them, once. One that has no result is not there for those who name it,
so that `has(object.x) && variables.y` is settled by its first half, as in CEL itself.

Pure: nothing is read or written here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeserver.cel import OUT_OF_BUDGET, Budget, Exhausted, compile_program, each_matched, matching_of, nesting_of
from kubeserver.dynamic_admission.policies.configuration import CommonSpec, PolicySpec, Validation
from kubeserver.kinds.policy_parts import VARIABLES

LONGEST_MESSAGE = 5 * 1024
LONGEST_ANNOTATION = 10 * 1024
_NAMED = re.compile(r"\bvariables\.([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Failure:
    """A validation that did not hold. `index` is its place among the policy's; -1 for what failed before them."""

    message: str
    reason: str = "Invalid"
    index: int = -1


class Failed(Exception):
    """An expression has no result; the message says why."""


class Expressions:
    """Expressions of one policy over one request, with one budget. `known`: the values of all `VARIABLES` but
    `variables`."""

    def __init__(self, spec: CommonSpec, known: Mapping[str, Any]) -> None:
        self._conditions = spec.match_conditions
        self._known = known
        self._budget = Budget()
        self._expressions = {variable.name: variable.expression for variable in spec.variables}
        self._variables: dict[str, Any] = {}
        self._faults: dict[str, str] = {}

    def is_meant(self) -> bool:
        """Tells whether all match conditions hold; one that is false settles it. Raises: Failed."""
        faults: list[str] = []
        for condition in self._conditions:
            try:
                if self.evaluate(condition.expression) is not True:
                    return False
            except Failed as failed:
                faults.append(f'match condition "{condition.name}": {failed}')
        if faults:
            raise Failed("; ".join(faults))
        return True

    def evaluate(self, expression: str) -> Any:
        """Raises: Failed."""
        self._provide(expression)
        known = {**self._known, "variables": self._variables}
        try:
            self._charge(expression)
            return compile_program(expression, VARIABLES).evaluate(known)
        except Exhausted:
            raise Failed(OUT_OF_BUDGET) from None
        except ValueError as error:
            raise Failed(self._told(expression, str(error))) from error

    def _charge(self, expression: str) -> None:
        """The variables one by one: each that comes is measured. Raises: Exhausted."""
        values = (*self._known.values(), *self._variables.values())
        matching, each = matching_of(expression), each_matched(expression)
        self._budget.charge(nesting_of(expression), *values, matching=matching, each=each)

    def _provide(self, expression: str) -> None:
        """Evaluates the variables that the expression names, and those that they name: each is above those."""
        for name in _NAMED.findall(expression):
            if name in self._expressions and name not in self._variables and name not in self._faults:
                self._faults[name] = "it names itself"
                try:
                    self._variables[name] = self.evaluate(self._expressions[name])
                    del self._faults[name]
                except Failed as failed:
                    self._faults[name] = str(failed)

    def _told(self, expression: str, error: str) -> str:
        """The fault of a variable says more than its absence."""
        faults = [
            f"variable {name}: {self._faults[name]}" for name in _NAMED.findall(expression) if name in self._faults
        ]
        return "; ".join(faults) or error


class Evaluation(Expressions):
    """Evaluation of a policy that judges."""

    def __init__(self, spec: PolicySpec, known: Mapping[str, Any]) -> None:
        super().__init__(spec, known)
        self._spec = spec

    def failures(self) -> Iterator[Failure]:
        """Failures of what does not hold, in order; what has no result, too, unless the policy ignores that."""
        for index, validation in enumerate(self._spec.validations):
            try:
                if self.evaluate(validation.expression) is not True:
                    yield Failure(self._message(validation), validation.reason, index)
            except Failed as failed:
                if self._spec.failure_policy == "Fail":
                    message = f"expression '{validation.expression.strip()}' resulted in error: {failed}"
                    yield Failure(message, "Invalid", index)

    def annotations(self) -> Iterator[tuple[str, str]]:
        """Annotations to be written into the audit log; keys without the policy's name. Raises: Failed."""
        for annotation in self._spec.audit_annotations:
            value = self.evaluate(annotation.value_expression)
            if value is None:
                continue
            if not isinstance(value, str):
                raise Failed(f"valueExpression of audit annotation {annotation.key!r} gave no string and no null")
            yield annotation.key, value.strip()[:LONGEST_ANNOTATION]

    def _message(self, validation: Validation) -> str:
        if validation.message_expression:
            try:
                said = self.evaluate(validation.message_expression)
            except Failed:
                said = None
            if isinstance(said, str) and said.strip() and "\n" not in said and len(said) <= LONGEST_MESSAGE:
                return said.strip()
        return validation.message.strip() or f"failed expression: {validation.expression.strip()}"
