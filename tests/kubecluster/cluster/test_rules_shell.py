"""The shell of simulated containers, and what it sees inside of them."""

import base64
from datetime import UTC, datetime

import pytest

from kubeapi.meta import Manifest
from kubecluster.rules.container import Inside, look_inside
from kubecluster.rules.shell import Ended, Shell
from tests.kubecluster.cluster.manifests import pod
from tests.kubecluster.cluster.test_rules_references import finding

INSIDE = Inside("web-0", {"A": "one", "B": "two words"}, {"/etc/conf/a": b"1\n", "/etc/conf/sub/b": b"2", "/x": b""})
SHELL = Shell(INSIDE, datetime(2026, 1, 1, 12, 0, tzinfo=UTC))


def run(script: str, stdin: bytes = b"") -> tuple[str, str, int]:
    ended = SHELL.run(["sh", "-c", script], stdin)
    return ended.output.decode(), ended.errors.decode(), ended.code


@pytest.mark.parametrize(
    ("script", "output", "code"),
    [
        ("echo hi  there", "hi there\n", 0),
        ('echo -n "$A ${B}"', "one two words", 0),
        ("echo '$A' \\$A $C.", "$A $A .\n", 0),
        ("false; echo $?", "1\n", 0),
        ("true && echo yes || echo no", "yes\n", 0),
        ("false && echo yes || echo no", "no\n", 0),
        ("echo a; exit 3; echo b", "a\n", 3),
        ("hostname\npwd; whoami # who else", "web-0\n/\nroot\n", 0),
        ("echo deep | cat | sh -c 'cat'", "deep\n", 0),
        ("cat /etc/conf/a /etc/conf/sub/b", "1\n2", 0),
        ("ls /etc/conf; ls /etc/conf/a", "a\nsub\n/etc/conf/a\n", 0),
        ("printenv B; env | cat", "two words\nA=one\nB=two words\n", 0),
        ("date", "Thu Jan  1 12:00:00 UTC 2026\n", 0),
        ("exit 300", "", 44),
        ("", "", 0),
    ],
)
def test_a_script_is_read_as_by_a_shell(script: str, output: str, code: int) -> None:
    assert run(script) == (output, "", code)


@pytest.mark.parametrize(
    ("script", "errors", "code"),
    [
        ("nope", "sh: nope: not found\n", 127),
        ("cat /none", "cat: can't open '/none': No such file or directory\n", 1),
        ("ls /none", "ls: /none: No such file or directory\n", 1),
        ("echo 'open", "sh: syntax error: no closing quotation\n", 2),
        ("echo a &", "sh: syntax error: '&' is not understood here\n", 2),
    ],
)
def test_what_goes_wrong_is_said_and_has_a_code(script: str, errors: str, code: int) -> None:
    assert run(script) == ("", errors, code)


def test_a_command_without_a_shell_is_not_expanded() -> None:
    assert SHELL.run(["/bin/echo", "$A", ";", "b"]) == Ended(b"$A ; b\n")
    assert SHELL.run(["sh"], b"echo $A\nexit 4\n") == Ended(b"one\n", code=4)
    assert SHELL.knows("/usr/bin/env")
    assert not SHELL.knows("nginx")


def test_a_container_has_what_its_pod_gives_it() -> None:
    secret = {"data": {"key": base64.b64encode(b"\x00s").decode()}}
    config = {"data": {"a": "1", "b": "2"}, "binaryData": {"c": base64.b64encode(b"3").decode()}}
    container = {
        "name": "main",
        "envFrom": [{"prefix": "C_", "configMapRef": {"name": "conf"}}],
        "env": [
            {"name": "PLAIN", "value": "x"},
            {"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": "conf", "key": "b"}}},
            {"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "volumeMounts": [
            {"name": "conf", "mountPath": "/conf/"},
            {"name": "picked", "mountPath": "/one/file", "subPath": "z"},
            {"name": "both", "mountPath": "/both"},
        ],
    }
    volumes: list[Manifest] = [
        {"name": "conf", "configMap": {"name": "conf"}},
        {"name": "picked", "configMap": {"name": "conf", "items": [{"key": "a", "path": "z"}]}},
        {"name": "both", "projected": {"sources": [{"secret": {"name": "key"}}, {"configMap": {"name": "none"}}]}},
    ]
    whole = pod("web-0", spec={"containers": [container], "volumes": volumes})
    inside = look_inside(whole, container, finding(configmap_conf=config, secret_key=secret))
    assert inside.hostname == "web-0"
    assert inside.files == {
        "/etc/hostname": b"web-0\n",
        "/conf/a": b"1",
        "/conf/b": b"2",
        "/conf/c": b"3",
        "/one/file": b"1",
        "/both/key": b"\x00s",
    }
    given = {name: inside.environment[name] for name in ("C_a", "C_b", "C_c", "PLAIN", "KEY", "ME", "HOSTNAME")}
    assert given == {"C_a": "1", "C_b": "2", "C_c": "3", "PLAIN": "x", "KEY": "2", "ME": "web-0", "HOSTNAME": "web-0"}


def test_files_and_directories_are_tested() -> None:
    found = [(path, option) for path in ("/etc/conf", "/etc/conf/a", "/none") for option in ("-d", "-e", "-f")]
    codes = [SHELL.run(["test", option, path]).code for path, option in found]
    assert codes == [0, 0, 1, 1, 0, 0, 1, 1, 1]
    assert SHELL.run(["test", "-z", "/x"]).code == 2
    assert not SHELL.knows("tar")
