"""Match conditions: the last filter before a webhook is asked, in CEL over the request.

They see `object`, `oldObject`, `request`, and `authorizer`: what whoever asks may do.

All of them must be true. One that is false settles it, whatever the others do; else one that fails decides as the
webhook's failure would.
"""

from collections.abc import Mapping
from typing import Any

from kubeserver.cel import OUT_OF_BUDGET, Budget, Exhausted, compile_program, each_matched, matching_of, nesting_of
from kubeserver.kinds.webhook_configurations import CONDITION_VARIABLES
from kubeserver.webhooks.calling import Uncallable
from kubeserver.webhooks.configuration import Webhook


def meets_conditions(webhook: Webhook, request: Mapping[str, Any], authorizer: Mapping[str, Any]) -> bool:
    """`request` is that of the AdmissionReview. Raises: Uncallable when a condition has no result.

    `authorizer` is the value of the variable; who decides is bound by `authorizing`.
    """
    if not webhook.match_conditions:
        return True
    seen = {"object": request["object"], "oldObject": request["oldObject"]}
    variables = {**seen, "request": request, "authorizer": authorizer}
    budget, failed = Budget(), list[str]()
    for condition in webhook.match_conditions:
        try:
            text, objects = condition.expression, (request["object"], request["oldObject"])
            budget.charge(nesting_of(text), *objects, matching=matching_of(text), each=each_matched(text))
            if compile_program(condition.expression, CONDITION_VARIABLES).evaluate(variables) is not True:
                return False
        except ValueError as error:
            failed.append(f'match condition "{condition.name}": {error}')
        except Exhausted:
            failed.append(f'match condition "{condition.name}": {OUT_OF_BUDGET}')
            break
    if failed:
        raise Uncallable("; ".join(failed))
    return True
