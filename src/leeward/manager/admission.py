"""Admission of Karmada's kinds: defaults first, then the rules beyond the schema, and warnings of what is ignored."""

from leeward.api.defaulting import DefaultingSettings, apply_defaults
from leeward.api.meta import Manifest
from leeward.api.status import Problem
from leeward.api.validation import validate, validate_deletion
from leeward.apiserver.admission import AdmissionReview, Rejected
from leeward.apiserver.remarks import warn
from leeward.core.admission_warnings import warnings_for
from leeward.loop.clock import Clock
from leeward.loop.randomness import Randomness
from leeward.manager.timing import Timing


class KarmadaAdmission:
    """An `Admission` for the embedded API server."""

    def __init__(self, clock: Clock, randomness: Randomness, timing: Timing) -> None:
        self._clock = clock
        self._randomness = randomness
        self._timing = timing

    def admit(self, review: AdmissionReview) -> Manifest:
        if review.operation == "DELETE":
            _refuse(validate_deletion(review.object))
            return review.object
        old = dict(review.old_object) if review.old_object is not None else None
        settings = DefaultingSettings(
            now=self._clock.now(),
            new_uid=self._randomness.uid,
            not_ready_toleration_seconds=self._timing.default_not_ready_toleration_seconds,
            unreachable_toleration_seconds=self._timing.default_unreachable_toleration_seconds,
        )
        obj = apply_defaults(review.object, settings, old)
        _refuse(validate(obj, old))
        for warning in warnings_for(obj):
            warn(warning)
        return obj


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise Rejected(problems=problems)
