import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest

from leeward import __version__
from leeward.cli.examples import EXAMPLES
from leeward.cli.program import ASK, COMPONENTS, INSTALL, LOCAL, OPERATE, OTHER, VERBS, program
from leeward.cli.settings import Settings
from leeward.cli.version import Build
from tests.manual_pages import main as write_pages
from tests.manual_pages import man_pages
from tests.verbs import Verb, call_verb

Run = Verb


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the program; gives its exit code, output and error output."""

    def call(*arguments: object) -> tuple[int, str, str]:
        return call_verb(capsys, *arguments)

    return call


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version") == (0, f"leeward {__version__}\n", "")
    code, out, err = run("version")
    assert (code, out.splitlines()[0], err) == (0, f"leeward {__version__}", "")


def test_programs_are_told_what_it_was_built_from(run: Run) -> None:
    code, out, _ = run("version", "-o", "json")
    assert code == 0
    assert msgspec.json.decode(out, type=Build).version == __version__


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("statsu",), "'statsu'. Did you mean 'status'?"),
        (("memebr", "add"), "'memebr'. Did you mean 'member'?"),
        (("member", "ad"), "'ad'. Did you mean 'add'?"),
        (("status", "--outptu", "json"), "'--outptu'. Did you mean '--output'?"),
        (("unregistre", "x"), "'unregistre'. Did you mean 'unregister' or 'register' or 'restore'?"),
        (("xyzzy",), "No such command 'xyzzy' (see `leeward --help`)"),
    ],
)
def test_what_was_mistyped_is_answered_with_what_may_have_been_meant(
    run: Run, typed: tuple[str, ...], meant: str
) -> None:
    code, out, err = run(*typed)
    assert (code, out) == (2, "")
    assert meant in err


@pytest.mark.parametrize(
    ("shell", "said"), [("bash", "complete -o"), ("zsh", "#compdef leeward"), ("fish", "complete ")]
)
def test_a_shell_gets_the_script_that_completes(run: Run, shell: str, said: str) -> None:
    code, out, _ = run("completion", shell)
    assert code == 0
    assert said in out
    assert "_LEEWARD_COMPLETE" in out


def completed(line: str, *names: str) -> tuple[set[str], list[str]]:
    """Words that bash would offer behind `line`, and which of these modules were imported for it."""
    words = line.split(" ")
    script = "import sys; from leeward.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    settings = {"_LEEWARD_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, timeout=60, check=False)
    offered = {entry.partition(",")[2] for entry in done.stdout.split()}
    return offered, [name for name in names if name in done.stderr.split()]


def test_verbs_are_completed_without_importing_them() -> None:
    offered, imported = completed("leeward un", "leeward.cli.unjoin", "leeward.app.local.fleet", "aiohttp")
    assert offered == {"uncordon", "unregister", "unjoin"}
    assert imported == []


def test_options_and_verbs_of_verbs_are_completed() -> None:
    assert completed("leeward member re")[0] == {"remove", "resume", "ready"}
    assert "--cluster-kubeconfig" in completed("leeward join --clu")[0]


def test_help_lists_all_verbs_but_the_hidden_one(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    listed = [verb.name for verb in VERBS if f"\n  {verb.name} " in out]
    assert listed == [verb.name for verb in VERBS if verb.name != "run"]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_the_list_of_verbs_says_what_the_verbs_say_of_themselves(verb: object) -> None:
    listed = next(entry for entry in VERBS if entry == verb)
    command = program.get_command(click.Context(program), listed.name)
    assert command is not None
    assert command.get_short_help_str(limit=100) == listed.help


@pytest.mark.parametrize("verb", ["up", "down", "status", "logs", "demo", "version", "run"])
def test_every_verb_takes_the_common_options_once(run: Run, verb: str) -> None:
    assert run(verb, "--help")[1].count("--data-dir") == 1


@pytest.mark.parametrize("verb", ["cordon", "uncordon", "taint", "drain", "confirm"])
def test_every_verb_about_a_cluster_takes_the_common_options_once(run: Run, verb: str) -> None:
    assert run(verb, "--help")[1].count("--data-dir") == 1


@pytest.mark.parametrize(
    "verb", ["add", "remove", "stop", "start", "pause", "resume", "unready", "ready", "stall", "serve", "slow"]
)
def test_every_verb_of_member_takes_the_common_options_once(run: Run, verb: str) -> None:
    assert run("member", verb, "--help")[1].count("--data-dir") == 1


@pytest.mark.parametrize(
    "arguments",
    [("--data-dir", "DIR", "status"), ("status", "--data-dir", "DIR")],
    ids=["before", "after"],
)
def test_the_data_directory_is_given_before_or_after_the_verb(
    run: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, _, err = run(*(argument.replace("DIR", str(tmp_path / "x")) for argument in arguments))
    assert code == 2
    assert f"there is no fleet in {tmp_path / 'x'}" in err


@pytest.mark.parametrize("position", [0, 1, 2, 3])
def test_the_data_directory_is_given_anywhere_around_a_verb_of_member(run: Run, tmp_path: Path, position: int) -> None:
    arguments = ["member", "ready", "member1"]
    arguments[position:position] = ["--data-dir", str(tmp_path / "x")]
    assert f"no fleet in {tmp_path / 'x'}" in run(*arguments)[2]


def test_the_environment_names_the_data_directory(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEEWARD_DATA_DIR", str(tmp_path / "y"))
    assert f"no fleet in {tmp_path / 'y'}" in run("down")[2]
    assert f"no fleet in {tmp_path / 'x'}" in run("--data-dir", tmp_path / "x", "down")[2]


def test_the_data_directory_is_in_the_home_directory_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEEWARD_DATA_DIR", raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert Settings().layout.root == Path("/home/somebody/.leeward")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("fly",), "No such command 'fly' (see `leeward --help`)"),
        (("up", "--port", "0"), "0 is not in the range 1<=x<=65535 (see `leeward up --help`)"),
        (("up", "--member", "A"), "a member cannot be called 'A'"),
        (("up", "--member", "a=both"), "must be push or pull"),
        (("up", "--timing", "slow"), "'slow' is not one of 'karmada', 'fast'"),
        (("member", "slow", "a", "--latency", "soon"), "'soon' is no duration: write 2s, 500ms or 1m30s"),
        (("member", "slow", "a"), "Missing option '--latency'"),
        (("member", "stop", "a", "--only", "kubelet"), "'kubelet' is not one of 'apiserver', 'agent'"),
        (("status", "--data-dir", ""), "it is empty"),
        (("run", "member"), "member: give the name of the member"),
    ],
)
def test_a_mistake_is_one_line_on_stderr(run: Run, arguments: tuple[str, ...], complaint: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("leeward: ")
    assert complaint in err
    assert err.count("\n") == 1


def _verbs(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Names of all verbs, also of those of verbs, from the program on."""
    for name in group.list_commands(click.Context(group)):
        verb = group.get_command(click.Context(group), name)
        yield from _verbs(verb, (*path, name)) if isinstance(verb, click.Group) else [(*path, name)]


@pytest.mark.parametrize("verb", [*_verbs(program)], ids=" ".join)
def test_a_usage_error_of_every_verb_exits_2(run: Run, verb: tuple[str, ...]) -> None:
    code, out, err = run(*verb, "--no-such-option")
    assert (code, out) == (2, "")
    assert "--no-such-option" in err


@pytest.mark.parametrize(
    "question",
    [
        "status", "brake status", "rollout status deploy/web", "orphans", "explain deploy/web", "explain cluster/a",
        "what-if --fail a", "resilience", "lint", "render deploy/web", "timeline", "snapshot FILE", "rehearse FILE",
    ],
)  # fmt: skip
def test_a_question_exits_2_where_nobody_could_be_asked(run: Run, tmp_path: Path, question: str) -> None:
    """Nothing listens at the address; of what needs somebody it would exit 1."""
    file = tmp_path / "file.yaml"
    file.write_text(
        "{apiVersion: leeward.dev/v1alpha1, kind: Rehearsal, spec: {duration: 1m, steps: [{at: 0s, fail: [a]}]}}"
    )
    config = tmp_path / "config"
    config.write_text(
        "{apiVersion: v1, kind: Config, current-context: a, users: [{name: a, user: {}}], contexts: [{name: a, "
        "context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}"
    )
    arguments = [str(file) if each == "FILE" else each for each in question.split()]
    code, out, err = run(*arguments, "--kubeconfig", config)
    assert (code, out) == (2, "")
    assert "connection refused" in err


def test_debug_shows_where_an_error_comes_from(run: Run, tmp_path: Path) -> None:
    code, _, err = run("down", "--data-dir", tmp_path / "x", "--debug")
    assert code == 1
    assert "Traceback" in err
    assert err.endswith("give its --data-dir\n")


@pytest.mark.parametrize("verb", ["status", "brake", "cordon", "drain", "rollout", "taint", "explain"])
def test_a_quick_verb_imports_nothing_heavy(verb: str) -> None:
    code = f"import sys, leeward.cli, leeward.cli.{verb}; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30).stdout
    assert {"aiohttp", "cryptography", "numpy", "rich", "uvloop", "yaml"}.isdisjoint(out.split())


def test_an_explanation_needs_nothing_that_speaks_http_for_long_or_reads_yaml() -> None:
    parts = "leeward.answers.subjects, leeward.cli.explain_text, kubeclient.blocking, leeward.cli.connections"
    code = f"import sys, {parts}; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30).stdout
    assert {"aiohttp", "cryptography", "rich", "uvloop", "yaml"}.isdisjoint(out.split())


@pytest.mark.parametrize("group", [(), ("member",), ("brake",), ("rollout",), ("token",)])
def test_without_a_verb_the_help_is_shown_as_it_is(run: Run, group: tuple[str, ...]) -> None:
    code, out, err = run(*group)
    assert (code, out) == (2, "")
    assert err == run(*group, "--help")[1]


@pytest.mark.parametrize("arguments", [("drain", "a", "--budget"), ("up", "--port"), ("logs", "a", "--tail")])
def test_what_is_no_number_is_called_so(run: Run, arguments: tuple[str, ...]) -> None:
    assert "'x' is not a valid integer (see" in run(*arguments, "x")[2]


def test_help_groups_verbs_by_the_work_they_are_for_and_has_examples(run: Run) -> None:
    code, out, _ = run("--help")
    headings = [line.rstrip(":") for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert code == 0
    assert headings[1:] == [LOCAL, OPERATE, ASK, INSTALL, COMPONENTS, OTHER]
    assert out.index(f"{OPERATE}:") < out.index("  status ") < out.index(f"{ASK}:") < out.index("  explain ")
    assert "leeward explain deploy/web -n shop " in out


@pytest.mark.parametrize(
    ("place", "problem"), [("/proc/nope", "it cannot be made there"), ("FILE", "it is a file, and no directory")]
)
def test_a_data_directory_that_cannot_be_is_named_with_the_reason(
    run: Run, tmp_path: Path, place: str, problem: str
) -> None:
    (tmp_path / "file").write_text("")
    directory = place.replace("FILE", str(tmp_path / "file"))
    code, _, err = run("up", "--data-dir", directory)
    assert (code, err) == (
        1,
        f"leeward: the data directory {directory} cannot be used: {problem}; give another --data-dir\n",
    )


def paths(group: click.Group, context: click.Context, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every verb that help lists, with the words that are typed for it."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if name != "run":
            yield f"{path}{name}", command
        if isinstance(command, click.Group):
            yield from paths(command, context, f"{path}{name} ")


LISTED = dict(paths(program, click.Context(program)))
FILES = ("K", "M", "policy.yaml", "override.yaml", "region-lost.yaml", "fleet.json", "decision.json", "fleet.backup")
MORE_FILES = ("member1.backup", "karmada-agent.kubeconfig", "tls.crt", "tls.key", "manifests/web.yaml")


def test_every_verb_has_examples_in_its_help_and_in_its_manual_page() -> None:
    assert LISTED.keys() == EXAMPLES.keys()
    pages = dict(man_pages(program))
    assert pages.keys() == {"leeward.1", *(f"leeward-{path.replace(' ', '-')}.1" for path in LISTED)}
    for path, command in LISTED.items():
        told = command.get_help(click.Context(command, info_name=path))
        page = pages[f"leeward-{path.replace(' ', '-')}.1"].replace("\\", "")
        for line in EXAMPLES[path]:
            assert line in told
            assert line in page


@pytest.mark.parametrize("line", sorted({line for lines in EXAMPLES.values() for line in lines}))
def test_an_example_is_read_as_it_stands(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (*FILES, *MORE_FILES):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    words = shlex.split(line.removeprefix("source <(").removesuffix(")"))[1:]
    context, command = click.Context(program, obj=Settings()), program
    while isinstance(command, click.Group):
        name, command, words = command.resolve_command(context, words)
        assert command is not None
        context = click.Context(command, parent=context, info_name=name, obj=Settings())
    assert command.make_context(context.info_name, words, parent=context.parent, obj=Settings()).command is command


def test_manual_pages_are_written_into_a_directory(tmp_path: Path) -> None:
    write_pages(tmp_path / "man1")
    page = (tmp_path / "man1/leeward-drain.1").read_text()
    assert page.startswith('.TH "LEEWARD-DRAIN" "1"')
    assert not [line for line in page.splitlines() if line.startswith("'")]
