"""`docs/flags.md`, rendered from the table: python -m tests.flags_page > docs/flags.md"""

from collections.abc import Iterator, Mapping

from leeward.app.flags.left_out import LEFT_OUT
from leeward.app.flags.table import COMPONENTS, FLAGS, Flag
from leeward.manager.gates import GATES, WITHOUT_EFFECT

_HEAD = """# Flags

Which flags does each component take? The names are Karmada's, but for those marked *ours*. `leeward up` takes its own
for the control plane and the agents of a local fleet, and keeps them. Durations are written as in Go: `1m30s`.

Each component writes its log to standard error, an event a line. `--logging-format=json` makes each line a JSON object
with `time`, `level`, `logger` and `message`, and `trace` of an error; the default is `text`.

| flag | default | components | what |
|---|---|---|---|
"""
_GATES = """
## Feature gates

| gate | default | switchable |
|---|---|---|
"""
_LEFT_OUT = """
## Flags of Karmada that are taken and not used

So Karmada's Deployments start with Leeward's image. The log names those that were written, in one line.

| flags | why |
|---|---|
"""


def render() -> str:
    gates = (f"| `{g.name}` | {str(g.default).lower()} | {g.fixed or 'yes'} |" for g in GATES)
    ignored = (f"| {names} | | taken, and not used: {why} |" for names, why in _by_reason(WITHOUT_EFFECT, ""))
    left_out = (f"| {names} | {why} |" for names, why in _by_reason(LEFT_OUT, "--"))
    tables = (_HEAD, _flags(), _GATES, gates, ignored, _LEFT_OUT, left_out)
    return "".join(part if isinstance(part, str) else "".join(f"{line}\n" for line in part) for part in tables)


def _by_reason(reasons: Mapping[str, str], prefix: str) -> Iterator[tuple[str, str]]:
    """The names of each reason, as one cell."""
    for why in dict.fromkeys(reasons.values()):
        yield ", ".join(f"`{prefix}{name}`" for name, reason in reasons.items() if reason == why), why


def _flags() -> Iterator[str]:
    return map(_flag, FLAGS)


def _flag(flag: Flag) -> str:
    components = ", ".join(component for component in COMPONENTS if component in flag.components)
    what = flag.help.partition("  [")[0] + (" *Ours.*" if flag.ours else "")
    others = "".join(f", {component} `{default}`" for component, default in flag.defaults.items())
    return f"| `--{flag.name}` | {f'`{flag.default}`' if flag.default else ''}{others} | {components} | {what} |"


if __name__ == "__main__":
    print(render(), end="")
