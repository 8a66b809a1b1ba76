"""A shell of a few words, for commands in simulated containers.

    echo  printenv  env  cat  ls  hostname  pwd  whoami  date  true  false  exit  test -d|-e|-f
    sh -c "a; b && c || d | e"

Variables (`$A`, `${A}`, `$?`) and quotes are read as in a shell. Nothing is written, and there are no processes:
a command ends at once. An unknown program is not found (127).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kubecluster.rules.container import Inside

SHELLS = ("sh", "bash", "ash")
NOT_FOUND = 127
_SEPARATORS = (";", "&&", "||", "|", "\n")
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*) | (?P<operator>&&|\|\||[;|&\n])
    | (?P<word>(?:'[^']*' | "(?:\\.|[^"\\])*" | \\. | [^\s;&|'"\\])+)""",
    re.VERBOSE,
)
_VARIABLE = re.compile(r"\$(\?|\w+|\{\w+\})")


@dataclass(frozen=True, slots=True)
class Ended:
    """End of a command. `exits`: it was `exit`, which ends the shell, too."""

    output: bytes = b""
    errors: bytes = b""
    code: int = 0
    exits: bool = False


@dataclass(frozen=True, slots=True)
class Shell:
    """Shell in one container, at one moment."""

    inside: Inside
    now: datetime

    def knows(self, program: str) -> bool:
        """Tells whether there is a program of this name, in whatever directory."""
        name = program.rpartition("/")[2]
        return name in SHELLS or name in _PROGRAMS

    def run(self, command: Sequence[str], stdin: bytes = b"") -> Ended:
        """Runs a command as it was given, without a shell that reads it."""
        name = command[0].rpartition("/")[2]
        if name in SHELLS:
            return self._run_shell(command, stdin)
        program = _PROGRAMS.get(name)
        if program is None:
            return Ended(errors=f"sh: {command[0]}: not found\n".encode(), code=NOT_FOUND)
        return program(self, command[1:], stdin)

    def run_script(self, script: str, stdin: bytes = b"", code: int = 0) -> Ended:
        """Runs a line, or several; `code` is `$?` at its beginning."""
        output, errors, piped = b"", b"", stdin
        try:
            steps = _split(script)
        except ValueError as error:
            return Ended(errors=f"sh: syntax error: {error}\n".encode(), code=2)
        for index, (before, words) in enumerate(steps):
            after = steps[index + 1][0] if index + 1 < len(steps) else ""
            if (before == "&&" and code != 0) or (before == "||" and code == 0):
                continue
            expanded = [expand(word, self.inside.environment, code) for word in words]
            ended = self.run(expanded, piped)
            code, errors, piped = ended.code, errors + ended.errors, b""
            if after == "|":
                piped = ended.output
            else:
                output += ended.output
            if ended.exits:
                return Ended(output, errors, code, exits=True)
        return Ended(output, errors, code)

    def _run_shell(self, command: Sequence[str], stdin: bytes) -> Ended:
        arguments = list(command[1:])
        while arguments and arguments[0].startswith("-"):
            option = arguments.pop(0)
            if "c" in option and arguments:
                ended = self.run_script(arguments[0], stdin)
                return Ended(ended.output, ended.errors, ended.code)
        ended = self.run_script(stdin.decode(errors="replace"))
        return Ended(ended.output, ended.errors, ended.code)


def expand(word: str, environment: Mapping[str, str], code: int) -> str:
    """A word after expansion: variables outside of single quotes are replaced, quotes go away."""
    parts = re.findall(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^'\"\\]+", word)
    return "".join(_expand_part(part, environment, code) for part in parts)


def _expand_part(part: str, environment: Mapping[str, str], code: int) -> str:
    if part.startswith("'"):
        return part[1:-1]
    if part.startswith("\\"):
        return part[1:]

    def value(match: re.Match[str]) -> str:
        name = match[1].strip("{}")
        return str(code) if name == "?" else environment.get(name, "")

    if part.startswith('"'):
        return re.sub(r"\\([\"\\$`])", r"\1", _VARIABLE.sub(value, part[1:-1]))
    return _VARIABLE.sub(value, part)


def _split(script: str) -> list[tuple[str, list[str]]]:
    """Commands, each with the separator before it. Raises: ValueError for quotes that are not closed."""
    steps: list[tuple[str, list[str]]] = [("", [])]
    rest = script.strip()
    while rest:
        match = _TOKEN.match(rest)
        if match is None:
            raise ValueError("no closing quotation")
        rest = rest[match.end() :].lstrip(" \t")
        if match["operator"]:
            if match["operator"] not in _SEPARATORS:
                raise ValueError(f"{match['operator']!r} is not understood here")
            steps.append((match["operator"], []))
        elif match["word"]:
            steps[-1][1].append(match["word"])
    return [(before, words) for before, words in steps if words]


def _echo(shell: Shell, arguments: Sequence[str], stdin: bytes) -> Ended:
    is_open = bool(arguments) and arguments[0] == "-n"
    text = " ".join(arguments[1:] if is_open else arguments)
    return Ended(text.encode() + (b"" if is_open else b"\n"))


def _environment(shell: Shell, arguments: Sequence[str], stdin: bytes) -> Ended:
    known = shell.inside.environment
    if arguments:
        found = [known[name] for name in arguments if name in known]
        return Ended("".join(f"{value}\n" for value in found).encode(), code=0 if len(found) == len(arguments) else 1)
    return Ended("".join(f"{name}={value}\n" for name, value in known.items()).encode())


def _cat(shell: Shell, arguments: Sequence[str], stdin: bytes) -> Ended:
    if not arguments:
        return Ended(stdin)
    missing = [path for path in arguments if path not in shell.inside.files]
    errors = "".join(f"cat: can't open '{path}': No such file or directory\n" for path in missing)
    output = b"".join(shell.inside.files[path] for path in arguments if path not in missing)
    return Ended(output, errors.encode(), code=1 if missing else 0)


def _ls(shell: Shell, arguments: Sequence[str], stdin: bytes) -> Ended:
    paths = [argument for argument in arguments if not argument.startswith("-")] or ["/"]
    output, errors = "", ""
    for path in paths:
        below = path.rstrip("/") + "/"
        names = {file.removeprefix(below).split("/")[0] for file in shell.inside.files if file.startswith(below)}
        if path in shell.inside.files:
            output += f"{path}\n"
        elif names:
            output += "".join(f"{name}\n" for name in sorted(names))
        else:
            errors += f"ls: {path}: No such file or directory\n"
    return Ended(output.encode(), errors.encode(), code=1 if errors else 0)


def _exit(shell: Shell, arguments: Sequence[str], stdin: bytes) -> Ended:
    number = arguments[0] if arguments else "0"
    return Ended(code=int(number) % 256 if number.isdecimal() else 2, exits=True)


def _test(shell: Shell, arguments: Sequence[str], stdin: bytes) -> Ended:
    if len(arguments) != 2 or arguments[0] not in ("-d", "-e", "-f"):
        return Ended(errors=b"test: only -d, -e and -f PATH are understood here\n", code=2)
    option, path = arguments
    is_file = path in shell.inside.files
    is_directory = any(file.startswith(path.rstrip("/") + "/") for file in shell.inside.files) or not path.strip("/")
    return Ended(code=0 if (is_file and option != "-d") or (is_directory and option != "-f") else 1)


_Program = Callable[[Shell, Sequence[str], bytes], Ended]
_PROGRAMS: Mapping[str, _Program] = {
    "echo": _echo,
    "env": lambda shell, arguments, stdin: _environment(shell, (), stdin),
    "printenv": _environment,
    "cat": _cat,
    "ls": _ls,
    "hostname": lambda shell, arguments, stdin: Ended(f"{shell.inside.hostname}\n".encode()),
    "pwd": lambda shell, arguments, stdin: Ended(b"/\n"),
    "whoami": lambda shell, arguments, stdin: Ended(b"root\n"),
    "date": lambda shell, arguments, stdin: Ended(shell.now.strftime("%a %b %e %H:%M:%S UTC %Y\n").encode()),
    "true": lambda shell, arguments, stdin: Ended(),
    "false": lambda shell, arguments, stdin: Ended(code=1),
    "exit": _exit,
    "test": _test,
}
