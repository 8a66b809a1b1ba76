"""Steps of a history: what happens at a time, which is either what a user does or what fails."""

import msgspec


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True, tag_field="step"):
    """Something that happens `at` a time."""

    at: float

    @property
    def ends_at(self) -> float:
        return self.at


class UserStep(Step, frozen=True, kw_only=True):
    """Wish of a user. It is tried until it succeeds, and users do one thing after the other."""


class Fault(Step, frozen=True, kw_only=True):
    """Failure of something that works again `lasts` seconds later."""

    lasts: float

    @property
    def ends_at(self) -> float:
        return self.at + self.lasts
