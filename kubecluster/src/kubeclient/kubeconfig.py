"""Reads a kubeconfig, or several as one: which server, which identity, for one context.

Of several the first that has a name wins, and those that do not exist are passed over, as with kubectl. Every broken
form is a `KubeconfigError` that names the file and the field. Files that it names are relative to its own
directory, and win or lose against inlined data as in kubectl: the data wins. Imports no HTTP library, so that a quick
command stays quick.
"""

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from kubeapi import codec
from kubeapi.urls import proxy_fault, proxy_scheme_fault
from kubeclient.connection import Connection, transport_of
from kubeclient.credentials import EXEC_API_VERSIONS, ExecPlugin

__all__ = ["Connection", "KubeconfigError", "KubeconfigSource", "load", "transport_of"]

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
"""Extension of a cluster that is for its exec plug-in."""
_ACTING_AS = ("as", "as-uid", "as-groups", "as-user-extra")
"""Fields of a user who acts as another one. Who passed over them would act with all rights of the credential."""
KubeconfigSource = Path | Sequence[Path] | Mapping[str, Any]
"""One file, several, or the contents of one."""


class KubeconfigError(ValueError):
    """`<file>: <field>: <problem>`."""


def load(source: KubeconfigSource, context: str = "") -> Connection:
    """The connection of `context`, or of the current one. Raises: KubeconfigError."""
    files = _read_all(source)
    name = context or next(filter(None, (file.text("current-context") for file in files)), "")
    if not name:
        raise files[0].error("current-context", "is not set; name a context")
    chosen = _named(files, "contexts", name, "context")
    cluster = _named(files, "clusters", chosen.required("cluster"), "cluster")
    user_name = chosen.text("user")
    user = _named(files, "users", user_name, "user") if user_name else files[0].empty("users")
    for field in filter(user.has, _ACTING_AS):
        raise user.error(
            field, "is not supported, and requests without it have more rights: name a user who has those alone"
        )
    return _connection(cluster, user, chosen.text("namespace"))


def current_context(source: KubeconfigSource) -> str:
    """The name of the context that is used when none is named; empty when there is none. Raises: KubeconfigError."""
    return next(filter(None, (file.text("current-context") for file in _read_all(source))), "")


def default_paths(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The files that kubectl reads when none is named: those of `$KUBECONFIG`, or else `~/.kube/config`."""
    listed = [Path(name) for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    return tuple(listed) or (Path("~/.kube/config").expanduser(),)


def holds_one_user(path: Path) -> bool:
    """Tells whether the file is somebody's own, so that they may write it anew. Raises: KubeconfigError."""
    return len(_read_file(path).sections("users")) == 1


class _Section:
    """One mapping of the file, with the way to it."""

    def __init__(self, source: str, directory: Path, path: str, values: Mapping[str, Any]) -> None:
        self._source = source
        self._directory = directory
        self._path = path
        self._values = values

    def error(self, field: str, problem: str) -> KubeconfigError:
        return KubeconfigError(f"{self._source}: {self._at(field)}: {problem}")

    @property
    def values(self) -> Mapping[str, Any]:
        return self._values

    def has(self, field: str) -> bool:
        return bool(self._values.get(field))

    def text(self, field: str) -> str:
        return cast(str, self._typed(field, str, "a string", ""))

    def flag(self, field: str) -> bool:
        return cast(bool, self._typed(field, bool, "true or false", False))

    def required(self, field: str) -> str:
        value = self.text(field)
        if not value:
            raise self.error(field, "is required")
        return value

    def section(self, field: str) -> "_Section":
        values = self._typed(field, dict, "a mapping", {})
        return _Section(self._source, self._directory, self._at(field), values)

    def empty(self, field: str) -> "_Section":
        return _Section(self._source, self._directory, self._at(field), {})

    def sections(self, field: str) -> list["_Section"]:
        found: list[_Section] = []
        for index, item in enumerate(cast(list[Any], self._typed(field, list, "a list", []))):
            at = f"{self._at(field)}[{index}]"
            if not isinstance(item, dict):
                raise KubeconfigError(f"{self._source}: {at}: is not a mapping")
            found.append(_Section(self._source, self._directory, at, cast(dict[str, Any], item)))
        return found

    def names(self, field: str) -> list[str]:
        return [item.text("name") for item in self.sections(field)]

    def find(self, field: str, name: str, inner: str) -> "_Section | None":
        """The `inner` mapping of the item of the list `field` that has this name."""
        return next((item.section(inner) for item in self.sections(field) if item.text("name") == name), None)

    def texts(self, field: str) -> tuple[str, ...]:
        items = cast(list[Any], self._typed(field, list, "a list", []))
        if not all(isinstance(item, str) for item in items):
            raise self.error(field, "is not a list of strings")
        return tuple(items)

    def content(self, field: str) -> bytes:
        """Bytes that `<field>-data` holds in base64, or else those of the file that `<field>` names; empty when there
        is neither."""
        data = self.text(f"{field}-data")
        if data:
            return self._decoded(f"{field}-data", data)
        path = self.file(field)
        return self._file_content(field, path) if path else b""

    def file(self, field: str) -> Path | None:
        name = self.text(field)
        return self._directory / name if name else None

    def _decoded(self, field: str, data: str) -> bytes:
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise self.error(field, f"is not base64: {error}") from error

    def _file_content(self, field: str, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise self.error(field, f"{path} cannot be read: {error.strerror}") from error

    def _typed(self, field: str, kind: type, wanted: str, default: Any) -> Any:
        value = self._values.get(field)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise self.error(field, f"is not {wanted}")
        return value

    def _at(self, field: str) -> str:
        return f"{self._path}.{field}" if self._path else field


def _read_all(source: KubeconfigSource) -> list[_Section]:
    """Reads all files, at least one. Raises: KubeconfigError."""
    if isinstance(source, Mapping):
        return [_Section("kubeconfig", Path(), "", source)]
    paths = [source] if isinstance(source, Path) else list(source)
    present = [path for path in paths if path.exists()]
    return [_read_file(path) for path in present or paths[:1]]


def _named(files: Sequence[_Section], field: str, name: str, inner: str) -> _Section:
    """Raises: KubeconfigError."""
    found = next(filter(None, (file.find(field, name, inner) for file in files)), None)
    if found is None:
        known = ", ".join(name for file in files for name in file.names(field)) or "none"
        raise files[0].error(field, f"there is no {inner} {name!r}; there are: {known}")
    return found


def _read_file(path: Path) -> _Section:
    try:
        documents = list(codec.parse_yaml(path.read_bytes()))
    except OSError as error:
        raise KubeconfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise KubeconfigError(f"{path}: {error}") from error
    if len(documents) != 1:
        raise KubeconfigError(f"{path}: holds {len(documents)} documents instead of one")
    return _Section(str(path), path.absolute().parent, "", documents[0])


def _connection(cluster: _Section, user: _Section, namespace: str) -> Connection:
    return Connection(
        server=_server(cluster),
        certificate_authority=_pem(cluster, "certificate-authority"),
        insecure_skip_tls_verify=cluster.flag("insecure-skip-tls-verify"),
        tls_server_name=cluster.text("tls-server-name"),
        proxy_url=_proxy_url(cluster),
        client_certificate=_client_certificate(user),
        client_key=_pem(user, "client-key"),
        token=user.text("token"),
        token_file=user.file("tokenFile"),
        username=user.text("username"),
        password=user.text("password"),
        exec_plugin=_exec_plugin(user.section("exec"), cluster) if user.has("exec") else _no_auth_provider(user),
        namespace=namespace,
    )


def _proxy_url(cluster: _Section) -> str:
    proxy = cluster.text("proxy-url")
    if proxy and (fault := proxy_fault(proxy) or proxy_scheme_fault(proxy)):
        raise cluster.error("proxy-url", fault)
    return proxy


def _server(cluster: _Section) -> str:
    server = cluster.required("server")
    if not server.startswith(("https://", "http://")):
        raise cluster.error("server", f"{server!r} does not begin with https:// or http://")
    return server


def _pem(section: _Section, field: str) -> bytes:
    content = section.content(field)
    if content and b"-----BEGIN " not in content:
        raise section.error(field if section.has(field) else f"{field}-data", "holds no PEM block")
    return content


def _client_certificate(user: _Section) -> bytes:
    certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
    if certificate and not key:
        raise user.error("client-key", "is required with a client certificate")
    if key and not certificate:
        raise user.error("client-certificate", "is required with a client key")
    return certificate


def _exec_plugin(section: _Section, cluster: _Section) -> ExecPlugin:
    api_version = section.text("apiVersion")
    if api_version not in EXEC_API_VERSIONS:
        raise section.error("apiVersion", f"is {api_version!r}; supported: {', '.join(EXEC_API_VERSIONS)}")
    if section.text("interactiveMode") == "Always":
        raise section.error("interactiveMode", "is Always, and there is nobody to answer")
    command = section.required("command")
    path = section.file("command")
    return ExecPlugin(
        command=str(path) if "/" in command and path else command,
        args=section.texts("args"),
        env={entry.required("name"): entry.text("value") for entry in section.sections("env")},
        api_version=api_version,
        install_hint=section.text("installHint"),
        cluster=_cluster_info(cluster) if section.flag("provideClusterInfo") else None,
    )


def _cluster_info(cluster: _Section) -> dict[str, Any]:
    """Cluster as kubectl 1.37 describes it to a plug-in that asks for it, with the plug-in's own settings."""
    said: dict[str, Any] = {
        "server": cluster.required("server"),
        "tls-server-name": cluster.text("tls-server-name"),
        "insecure-skip-tls-verify": cluster.flag("insecure-skip-tls-verify"),
        "certificate-authority-data": base64.b64encode(cluster.content("certificate-authority")).decode(),
        "proxy-url": cluster.text("proxy-url"),
        "disable-compression": cluster.flag("disable-compression"),
    }
    settings = cluster.find("extensions", _EXEC_EXTENSION, "extension")
    given = {name: value for name, value in said.items() if value}
    return given if settings is None else {**given, "config": settings.values}


def _no_auth_provider(user: _Section) -> None:
    if user.has("auth-provider"):
        raise user.error("auth-provider", "is no longer supported by Kubernetes; use an exec plug-in")
