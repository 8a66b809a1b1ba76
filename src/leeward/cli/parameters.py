"""Types of arguments: durations, numbers, member names, members to be."""

import click

from leeward.app.flags.parsing import parse_duration
from leeward.app.local import FleetError
from leeward.app.local.fleet import MemberRequest, parse_member


class Duration(click.ParamType[float]):
    """Go's form, `2s`, `500ms`, `1m30s`: seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Number(click.IntRange):
    """A whole number, which a complaint calls so, and not a range."""

    name = "integer"


class NewMember(click.ParamType[MemberRequest]):
    """`NAME[=push|pull]`."""

    name = "member"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> MemberRequest:
        try:
            return value if isinstance(value, MemberRequest) else parse_member(str(value))
        except FleetError as error:
            self.fail(str(error), param, ctx)
