"""Reasons with which components tell events, read from the calls in their source.

A call tells an event when it is one of a recorder (`normal`, `warning`, `step`, `note`, or a warning that stands), or
one of what in its module takes a `reason` and hands it on. A reason that is neither a text nor the name of one is in
`ELSEWHERE`; one that is not there raises a KeyError, so that no event is missed.
"""

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from leeward.core.registration import Verdict

SOURCE = Path(__file__).parents[1] / "src/leeward"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_AT = {"normal": 2, "warning": 2, "record": 2, "note": 2, "step": 1}
"""Position of the reason in a call of a recorder, by the method."""


@cache
def reasons_told() -> set[str]:
    """Reasons of all events that the control plane and the agent tell."""
    files = [path for folder in ("controllers", "manager") for path in sorted((SOURCE / folder).rglob("*.py"))]
    return {reason for path in files for reason in _reasons_in(path)}


def reasons_of_ready() -> set[str]:
    """Reasons that a cluster's Ready may change to; it begins with another one, which is told by no event."""
    files = (SOURCE / "core/cluster_health" / name for name in ("ready_condition.py", "monitor_grace_period.py"))
    return {reason for path in files for reason in _reasons_in(path)} - {"ClusterStatusNeverUpdated"}


def reasons_of_waiting() -> set[str]:
    """Reasons for which a certificate request waits for a person."""
    tree = ast.parse((SOURCE / "core/registration.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Ruling"]
    waiting = [call for call in calls if ast.unparse(call.args[0]) == f"Verdict.{Verdict.WAITS.name}"]
    return {ast.literal_eval(call.args[1]) for call in waiting if len(call.args) > 1}


ELSEWHERE = {
    ("cluster_controller", "ready.reason"): reasons_of_ready,
    ("agent_certificates", "ruling.reason"): reasons_of_waiting,
    ("work_status", "f'{question}Failed'"): lambda: {"ReflectStatusFailed", "InterpretHealthFailed"},
    ("decision_events", "news.reason"): set[str],
    ("warnings", "reason"): set[str],
}
"""Reasons that a call does not name, by module and expression. Those of `_News` and of standing warnings are read where
they are made."""


def _reasons_in(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    module = import_module(".".join(("leeward", *path.relative_to(SOURCE).with_suffix("").parts)))
    handing_on = dict(_handing_on(tree))
    for scope in ast.walk(tree):
        if isinstance(scope, _FUNCTIONS):
            for call in ast.walk(scope):
                reason = _reason_of(call, handing_on) if isinstance(call, ast.Call) else None
                if reason is not None and not _is_handed_on(reason, scope, handing_on):
                    yield from _texts(reason, scope, module)


def _handing_on(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Functions and tuples of the module that take a reason, with its position."""
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and node.name != "__init__":
            names = [each.arg for each in node.args.args if each.arg != "self"]
        elif isinstance(node, ast.ClassDef):
            names = [ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)]
        else:
            continue
        if "reason" in names:
            yield node.name, names.index("reason")


def _reason_of(call: ast.Call, handing_on: dict[str, int]) -> ast.expr | None:
    """The expression for the reason that a call tells; None where it tells no event. After the reason comes a
    message."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "keep" and ast.unparse(call.func).endswith("_warnings.keep"):
        return call.args[1]
    if name in handing_on and len(call.args) > handing_on[name]:
        return call.args[handing_on[name]]
    if name in _AT and len(call.args) > _AT[name] + 1 and not ast.unparse(call.func).startswith("log."):
        return call.args[_AT[name]]
    return None


def _is_handed_on(reason: ast.expr, scope: ast.FunctionDef | ast.AsyncFunctionDef, handing_on: dict[str, int]) -> bool:
    """Tells whether it came as an argument: then the calls of `scope` are read."""
    is_private = scope.name.startswith("_")
    return is_private and scope.name in handing_on and ast.unparse(reason) == "reason"


def _texts(reason: ast.expr, scope: ast.AST, module: object) -> set[str]:
    if isinstance(reason, ast.Constant):
        return {str(reason.value)}
    if isinstance(reason, ast.IfExp):
        return _texts(reason.body, scope, module) | _texts(reason.orelse, scope, module)
    name = ast.unparse(reason)
    if isinstance(found := getattr(module, name, None), str):
        return {found}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return _texts(node.value, scope, module)
    return ELSEWHERE[str(getattr(module, "__name__", "")).rpartition(".")[2], name]()
