"""Types of arguments: durations, member names, members to be."""

import re

import click

from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import MemberRequest, parse_member

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


class Duration(click.ParamType[float]):
    """`2s`, `500ms`, `1.5m`: seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = _DURATION.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is no duration: write 2s, 500ms or 1m", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


class NewMember(click.ParamType[MemberRequest]):
    """`NAME[=push|pull]`."""

    name = "member"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> MemberRequest:
        try:
            return value if isinstance(value, MemberRequest) else parse_member(str(value))
        except FleetError as error:
            self.fail(str(error), param, ctx)
