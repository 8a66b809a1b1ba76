"""Types of arguments: durations, member names, members to be."""

import re

import click

from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import MemberRequest, parse_member

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType[float]):
    """`2s`, `500ms`, `1.5m`, `1h30m`: seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if _DURATION.fullmatch(str(value)) is None:
            self.fail(f"{value!r} is no duration: write 2s, 500ms, 1m or 1h30m", param, ctx)
        return sum(float(count) * _UNITS[unit] for count, unit in _PART.findall(str(value)))


class NewMember(click.ParamType[MemberRequest]):
    """`NAME[=push|pull]`."""

    name = "member"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> MemberRequest:
        try:
            return value if isinstance(value, MemberRequest) else parse_member(str(value))
        except FleetError as error:
            self.fail(str(error), param, ctx)
