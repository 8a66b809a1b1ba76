"""Verbs that answer: what they are asked of (a control plane, or a file of `leeward snapshot`), and how they exit.

0 is fine, 1 has findings, 2 could not look: what was asked wrongly is 2 as well, so that no pipeline takes it for a
finding. Nothing that they do changes a control plane.
"""

import gc
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from leeward.app.local import FleetError
from leeward.cli.connections import Target, ask, operator_options, target_of
from leeward.cli.named_files import InputFile, decode_file
from leeward.cli.output import complain, say_coloured
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from kubeclient import Client
    from leeward.answers.fleet_state import FleetState

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
WELL, FINDINGS, COULD_NOT_LOOK = 0, 1, 2
"""Exit codes of such a verb."""
MAX_PICTURE_BYTES = 2 * 1024**3


class AnswerCommand(click.Command):
    """A verb that answers: whatever keeps it from that ends it with COULD_NOT_LOOK, and one line on stderr."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except FleetError as error:
            complain(str(error))
            raise click.exceptions.Exit(COULD_NOT_LOOK) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FleetError as error:
            complain(str(error))
            raise click.exceptions.Exit(COULD_NOT_LOOK) from None


@contextmanager
def without_collecting() -> Generator[None, None, None]:
    """A short work without collection of garbage: most of its objects are modules, which stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def picture_options(command: F) -> F:
    """Adds `--from`, `--kubeconfig`, `--context` and `-o`."""
    command = click.option(
        "-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", help="The form."
    )(command)
    return source_options(command)


def source_options(command: F) -> F:
    """Adds `--from`, `--kubeconfig` and `--context`, which name the source of answers."""
    return click.option(
        "--from", "file", type=InputFile(), help="Ask a file of `leeward snapshot` instead of a control plane."
    )(operator_options(command))


def whole_picture(settings: Settings, kubeconfig: Path | None, context: str, file: Path | None) -> "FleetState":
    """Picture from a file, or all of a control plane. Raises: FleetError."""
    if file is not None:
        state = picture_in(file, kubeconfig, context)
    else:
        target = target_of(settings, kubeconfig, context)
        state = ask(target, lambda client: _read(client, target))
    gc.freeze()  # it stays until the end, and is not looked through again and again for what could be given back
    return state


def picture_in(file: Path, kubeconfig: Path | None = None, context: str = "") -> "FleetState":
    """Raises: FleetError that names the file and the field."""
    from kubeapi.codec import DecodeError
    from leeward.answers.fleet_state import decode_state

    if kubeconfig is not None or context:
        raise click.UsageError("--from asks a file: leave out --kubeconfig and --context")
    return decode_file(file, decode_state, DecodeError, "make one with `leeward snapshot FILE`", MAX_PICTURE_BYTES)


async def _read(client: "Client", target: Target) -> "FleetState":
    from kubeapi.loop import SystemClock
    from leeward.answers.reading import read_fleet

    return await read_fleet(client, SystemClock(), target.name)


def say_answer(
    state: "FleetState", answer: object, output: str, lines: Iterable[str], *, err: bool = False, of_room: bool = True
) -> None:
    """Says an answer from a picture: as JSON or YAML, or by its `lines`; before them, that nobody watches, and of an
    answer about room, that it is estimated."""
    is_estimated = of_room and state.settings.estimators
    if output in ("json", "yaml"):
        more = {"unwatchedSince": state.recorded.unwatched_since, **({"roomIsEstimated": True} if is_estimated else {})}
        say_coloured(rendered(answer, output, more), err=err)
    else:
        say_coloured("\n".join((*_unwatched(state), *(_estimated() if is_estimated else ()), *lines)), err=err)


def _unwatched(state: "FleetState") -> Iterator[str]:
    from leeward.cli.text_lines import NEEDS_SOMEBODY, headline
    from leeward.operations.sentences import since

    unwatched = state.recorded.unwatched_since
    if unwatched is not None:
        when = since(unwatched, state.as_of)
        yield from headline(NEEDS_SOMEBODY, f"nobody watches the clusters{when}: what follows is as of then")


def _estimated() -> Iterator[str]:
    from leeward.answers.room_arithmetic import ESTIMATED
    from leeward.cli.text_lines import headline

    yield from headline("?", ESTIMATED)


def rendered(answer: object, output: str, more: Mapping[str, object] = {}) -> str:
    """Renders the answer, with `more` fields, as JSON or YAML, for programs."""
    import msgspec

    from kubeapi.codec import render_yaml

    plain: Any = msgspec.to_builtins(answer)
    if more:
        plain |= msgspec.to_builtins(more)
    return json.dumps(plain, indent=2) if output == "json" else render_yaml(plain).rstrip("\n")
