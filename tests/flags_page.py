"""`docs/flags.md`, rendered from the table: python -m tests.flags_page > docs/flags.md"""

from collections.abc import Iterator

from leeward.app.flags.left_out import LEFT_OUT
from leeward.app.flags.table import COMPONENTS, FLAGS, Flag
from leeward.manager.gates import GATES, WITHOUT_EFFECT

_HEAD = """# Flags

The names are Karmada's; those marked *ours* Karmada has not. `leeward up` takes those of its column for the control
plane and the agents of a local fleet, and keeps them. Durations are written as in Go: `1m30s`.

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

Its Deployments start with Leeward's image. The log names those that were written, in one line.

| flag | why |
|---|---|
"""


def render() -> str:
    gates = (f"| `{g.name}` | {str(g.default).lower()} | {g.fixed or 'yes'} |" for g in GATES)
    ignored = (f"| `{name}` | | taken, and not used: {why} |" for name, why in WITHOUT_EFFECT.items())
    left_out = (f"| `--{name}` | {why} |" for name, why in LEFT_OUT.items())
    tables = (_HEAD, _flags(), _GATES, gates, ignored, _LEFT_OUT, left_out)
    return "".join(part if isinstance(part, str) else "".join(f"{line}\n" for line in part) for part in tables)


def _flags() -> Iterator[str]:
    return map(_flag, FLAGS)


def _flag(flag: Flag) -> str:
    components = ", ".join(component for component in COMPONENTS if component in flag.components)
    what = flag.help.partition("  [")[0] + (" *Ours.*" if flag.ours else "")
    others = "".join(f", {component} `{default}`" for component, default in flag.defaults.items())
    return f"| `--{flag.name}` | {f'`{flag.default}`' if flag.default else ''}{others} | {components} | {what} |"


if __name__ == "__main__":
    print(render(), end="")
