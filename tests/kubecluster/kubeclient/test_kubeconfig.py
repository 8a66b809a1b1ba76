"""Kubeconfig: every form that works, and a clear word for each that does not."""

import base64
from pathlib import Path
from typing import Any

import pytest

from kubeclient.connection import Connection, ssl_context_of
from kubeclient.kubeconfig import KubeconfigError, current_context, default_paths, load
from tests.certificates import Authority

CA = Authority()
CERTIFICATE, KEY = CA.issue("alice")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def config(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        **fields,
    }


def test_inlined_data_is_decoded() -> None:
    cluster = {"certificate-authority-data": encoded(CA.certificate), "tls-server-name": "kubernetes"}
    user = {"client-certificate-data": encoded(CERTIFICATE), "client-key-data": encoded(KEY)}
    assert load(config(cluster, user)) == Connection(
        "https://127.0.0.1:6443",
        certificate_authority=CA.certificate,
        tls_server_name="kubernetes",
        client_certificate=CERTIFICATE,
        client_key=KEY,
        namespace="ns",
    )


def test_a_file_and_what_it_names_beside_it_are_read(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(CA.certificate)
    path = tmp_path / "config"
    path.write_text(
        "current-context: main\n"
        "contexts: [{name: main, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca.crt}}]\n"
        "users: [{name: u, user: {tokenFile: token}}]\n"
    )
    connection = load(path)
    assert connection.certificate_authority == CA.certificate
    assert connection.token_file == tmp_path / "token"


def test_another_context_can_be_chosen_and_a_user_can_be_left_out() -> None:
    contexts = [{"name": "other", "context": {"cluster": "c"}}]
    assert load(config(contexts=contexts), "other") == Connection("https://127.0.0.1:6443")


def test_an_exec_plugin_is_read() -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "login",
        "args": ["--cluster", "x"],
        "env": [{"name": "A", "value": "b"}],
        "provideClusterInfo": True,
    }
    found = load(config(user={"exec": plugin})).exec_plugin
    assert found is not None
    assert (found.command, found.args, found.env) == ("login", ("--cluster", "x"), {"A": "b"})
    assert found.cluster == {"server": "https://127.0.0.1:6443"}


def test_an_exec_plugin_is_told_of_its_cluster_as_kubectl_tells_it() -> None:
    """The fields that kubectl 1.37.1 puts into KUBERNETES_EXEC_INFO."""
    cluster = {
        "tls-server-name": "inner",
        "certificate-authority-data": encoded(CA.certificate),
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
        "extensions": [
            {"name": "other", "extension": {"a": 1}},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}},
        ],
    }
    found = load(config(cluster, user={"exec": {**EXEC, "provideClusterInfo": True}})).exec_plugin
    assert found is not None
    assert found.cluster == {
        "server": "https://127.0.0.1:6443",
        "tls-server-name": "inner",
        "certificate-authority-data": encoded(CA.certificate),
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
        "config": {"audience": "x"},
    }


EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "login"}

BROKEN: list[tuple[dict[str, Any], str]] = [
    (config() | {"current-context": ""}, "current-context: is not set; name a context"),
    (config() | {"current-context": "nope"}, "contexts: there is no context 'nope'; there are: main"),
    (config(contexts="x"), "contexts: is not a list"),
    (config(contexts=["x"]), r"contexts\[0\]: is not a mapping"),
    (config(contexts=[{"name": "main", "context": {}}]), r"contexts\[0\]\.context\.cluster: is required"),
    (config(clusters=[]), "clusters: there is no cluster 'c'; there are: none"),
    (config(users=[]), "users: there is no user 'u'"),
    (config({"server": ""}), r"clusters\[0\]\.cluster\.server: is required"),
    (config({"server": "10.0.0.1"}), r"server: '10\.0\.0\.1' does not begin with https:// or http://"),
    (config({"server": 7}), r"server: is not a string"),
    (config({"insecure-skip-tls-verify": "yes"}), "insecure-skip-tls-verify: is not true or false"),
    (config({"certificate-authority-data": "%%"}), "certificate-authority-data: is not base64"),
    (config({"certificate-authority-data": encoded(b"hi")}), "certificate-authority-data: holds no PEM block"),
    (config({"certificate-authority": "/none.crt"}), r"certificate-authority: /none\.crt cannot be read: No such file"),
    (config(user={"client-certificate-data": encoded(CERTIFICATE)}), "client-key: is required with a client certif"),
    (config(user={"client-key-data": encoded(KEY)}), "client-certificate: is required with a client key"),
    (config(user={"exec": {"command": "x"}}), r"users\[0\]\.user\.exec\.apiVersion: is ''; supported: client"),
    (config(user={"exec": {**EXEC, "command": ""}}), r"exec\.command: is required"),
    (config(user={"exec": {**EXEC, "args": [1]}}), r"exec\.args: is not a list of strings"),
    (config(user={"exec": {**EXEC, "interactiveMode": "Always"}}), r"exec\.interactiveMode: is Always"),
    (config(user={"auth-provider": {"name": "gcp"}}), "auth-provider: is no longer supported"),
    (
        config(user={"token": "t", "as": "jane"}),
        r"users\[0\]\.user\.as: is not supported, .* rights: name a user who has",
    ),
    (config(user={"as-uid": "7"}), r"users\[0\]\.user\.as-uid: is not supported"),
    (config(user={"as-groups": ["readers"]}), r"users\[0\]\.user\.as-groups: is not supported"),
    (config(user={"as-user-extra": {"a": ["b"]}}), r"users\[0\]\.user\.as-user-extra: is not supported"),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_a_broken_kubeconfig_is_refused_by_its_field(broken: dict[str, Any], message: str) -> None:
    with pytest.raises(KubeconfigError, match=f"kubeconfig: .*{message}"):
        load(broken)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [", "not valid YAML"), ("- a", "not a mapping"), ("", "holds 0 documents instead of one")],
)
def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(KubeconfigError, match=f"{path}: .*{message}"):
        load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match=r"none: cannot be read: No such file or directory"):
        load(tmp_path / "none")


def test_secrets_do_not_show() -> None:
    connection = load(config(user={"token": "s3cret", "username": "u", "password": "hidden"}))
    assert "s3cret" not in repr(connection)
    assert "hidden" not in repr(connection)


def test_a_certificate_that_does_not_fit_its_key_is_refused() -> None:
    other_key = CA.issue("bob")[1]
    with pytest.raises(ValueError, match="client certificate and key do not fit"):
        ssl_context_of(Connection("https://h", client_certificate=CERTIFICATE, client_key=other_key))
    with pytest.raises(ValueError, match="certificate authority of https://h is not PEM"):
        ssl_context_of(Connection("https://h", certificate_authority=b"-----BEGIN NOTHING"))


def test_of_several_files_the_first_that_has_a_name_wins_and_missing_ones_are_passed_over(tmp_path: Path) -> None:
    first, second, missing = (tmp_path / name / "config" for name in ("first", "second", "missing"))
    for path in (first, second):
        path.parent.mkdir()
        (path.parent / "ca.crt").write_bytes(CA.certificate)
    cluster = "{name: c, cluster: {server: 'https://%s', certificate-authority: ca.crt}}"
    first.write_text(f"clusters: [{cluster % 'first'}]\n")
    second.write_text(
        "current-context: main\ncontexts: [{name: main, context: {cluster: c, user: u}}]\n"
        f"clusters: [{cluster % 'second'}]\nusers: [{{name: u, user: {{tokenFile: token}}}}]\n"
    )
    files = (missing, first, second)
    assert current_context(files) == "main"
    connection = load(files)
    assert connection.server == "https://first"
    assert connection.token_file == second.parent / "token", "what a file names is beside it"
    with pytest.raises(KubeconfigError, match="there is no context 'other'; there are: main"):
        load(files, "other")
    with pytest.raises(KubeconfigError, match="missing/config: cannot be read"):
        load((missing,))


def test_the_files_are_those_of_the_variable_or_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    assert default_paths({}) == (Path("/home/alice/.kube/config"),)
    assert default_paths({"KUBECONFIG": "a::b"}) == (Path("a"), Path("b"))


@pytest.mark.parametrize("proxy", ["socks5://proxy:1080", "proxy:3128", "ftp://proxy"])
def test_a_proxy_that_nothing_goes_through_is_named(proxy: str) -> None:
    with pytest.raises(KubeconfigError, match="proxy-url"):
        load(config({"proxy-url": proxy}))
    assert load(config({"proxy-url": "http://proxy:3128"})).proxy_url == "http://proxy:3128"
