"""Real Kubernetes API servers on 127.0.0.1: each an etcd and a kube-apiserver, members with a controller manager.

A member lives and dies as clusters do: its processes can be killed, frozen, or cut off from their etcd, which makes
reads hang and, after a while, `/readyz` answer 500.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kubeapi.meta import Manifest
from kubeserver.certificates import Authority
from tests.e2e.answers import ANSWER_SECONDS, Answer, ask
from tests.e2e.program import Program
from tests.e2e.versions import dialect_of
from tests.ports import free_port

TOKEN = "e2e-admin"
START_SECONDS, POLL_SECONDS = 300.0, 0.2
METRICS_SECONDS = 60.0
WATCH_SECONDS = 60
"""Seconds, up to twice as many, after which a server closes a watch: half an hour in a real one, minutes here."""
WORKLOADS = "*,-nodelifecycle,-nodeipam,-route,-cloud-node-lifecycle,-ttl"
SIGNING_KEY = "sa.key"
"""File of the key that signs tokens of service accounts."""
HOUSEKEEPING = "namespace,garbagecollector,serviceaccount-token,csrsigning,csrcleaner,bootstrapsigner,tokencleaner"
"""Controllers of a control plane for templates, as Karmada installs it: nothing that makes Pods of a Deployment."""
MEMBER_ADDRESSES, CONTROL_PLANE_ADDRESSES = "10.96", "10.97"
"""Beginnings of the cluster IPs that they give to Services."""
FRONT_PROXY = "front-proxy-client"
"""User as whom a kube-apiserver speaks to the API servers behind its APIServices."""
AUDITED = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "verbs": ["create", "update", "patch", "delete"],
            "resources": [{"group": "cluster.karmada.io", "resources": ["clusters"]}],
        },
        {"level": "None"},
    ],
}
"""Audit policy: who changes clusters, apart from their status."""


class KubeServer:
    """etcd and kube-apiserver in one directory; `kubeconfig` is an administrator's."""

    def __init__(
        self,
        name: str,
        directory: Path,
        binaries: Path,
        *,
        workloads: bool,
        without_admission: tuple[str, ...] = ("TaintNodesByCondition",),
        keys_of: "KubeServer | None" = None,
    ) -> None:
        """`keys_of`: another machine's server of the same control plane, whose authority and keys this one has."""
        self.name = name
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self.port = free_port()
        self._audit_log = directory / "audit.log"
        directory.mkdir(parents=True)
        if keys_of is not None:
            shutil.copytree(keys_of.directory / "pki", directory / "pki")
            shutil.copy(keys_of.directory / SIGNING_KEY, directory)
        self.binaries = binaries
        self._addresses = MEMBER_ADDRESSES if workloads else CONTROL_PLANE_ADDRESSES
        self._without_admission = without_admission
        self._authority = Authority(directory / "pki", datetime.now(UTC))
        self.etcd = self._etcd()
        self.apiserver = self._apiserver(self._etcd_url)
        self.version = _version_of(binaries / "kube-apiserver")
        self.manager = self._manager(WORKLOADS if workloads else HOUSEKEEPING)
        self._write_kubeconfig()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def authority(self) -> Path:
        """The certificate that it is known by."""
        return self._authority.pair.certificate

    @property
    def programs(self) -> list[Program]:
        return [self.etcd, self.apiserver, self.manager]

    def start(self) -> None:
        """A kube-apiserver gives up that finds no etcd. Raises: AssertionError."""
        self.etcd.start()
        self._wait(self.etcd, lambda: ask(f"{self._etcd_url}/health").code == 200)
        self.apiserver.start()

    def wait_ready(self) -> None:
        """Starts the controller manager, too: it ends when there is nothing to talk to. Raises: AssertionError."""
        self.wait_answers()
        if not self.manager.runs:
            self.manager.start()

    def wait_answers(self) -> None:
        """Raises: AssertionError."""
        self._wait(self.apiserver, lambda: self._ask("/readyz").code == 200)

    def metrics(self) -> str:
        """Raises: AssertionError."""
        answer = self._ask("/metrics", METRICS_SECONDS)
        assert answer.code == 200, f"{self.name} shows no metrics: {answer}"
        return answer.body

    def audited(self) -> list[Manifest]:
        """Events of its audit log, in their order; the last line may not be written to its end."""
        lines = self._audit_log.read_text().splitlines(keepends=True) if self._audit_log.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def kill(self) -> None:
        """Connections are refused."""
        for program in (self.apiserver, self.manager, self.etcd):
            program.kill()

    def restart(self) -> None:
        """Starts it again after `kill`; the data is what it was."""
        self.start()
        self.wait_ready()

    def freeze(self) -> None:
        """Connections hang."""
        self.apiserver.send(signal.SIGSTOP)

    def thaw(self) -> None:
        self.apiserver.send(signal.SIGCONT)

    def make_unready(self) -> None:
        """Takes its etcd away: without it the server serves nothing, and says sooner or later that it is not ready."""
        self.etcd.kill()

    def make_ready(self) -> None:
        self.etcd.start()
        self.wait_answers()

    def save_snapshot(self, file: Path) -> None:
        _etcdctl("snapshot", "save", str(file), f"--endpoints={self._etcd_url}")

    def restore_snapshot(self, file: Path) -> None:
        """Makes the snapshot the store of a server that does not run."""
        shutil.rmtree(self._store, ignore_errors=True)
        _etcdctl("snapshot", "restore", str(file), f"--data-dir={self._store}", *self._membership)

    def stop(self) -> None:
        for program in reversed(self.programs):
            program.stop()

    def _ask(self, path: str, seconds: float = ANSWER_SECONDS) -> Answer:
        return ask(self.url + path, authority=self.authority, token=TOKEN, seconds=seconds)

    @staticmethod
    def _wait(program: Program, is_up: Callable[[], bool]) -> None:
        """Raises: AssertionError when it is not up in time, or ends instead."""
        deadline = time.monotonic() + START_SECONDS
        while not is_up():
            assert program.runs, f"it has ended: {program.last_words()}"
            assert time.monotonic() < deadline, f"not ready within {START_SECONDS:g} s: {program.last_words()}"
            time.sleep(POLL_SECONDS)

    def _etcd(self) -> Program:
        self._etcd_url, peer = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        self._store = self.directory / "etcd"
        self._membership = (f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}")
        return self._program(
            "etcd",
            f"--data-dir={self._store}",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={peer}",
            *self._membership,
            "--unsafe-no-fsync",
        )

    def _apiserver(self, etcd_url: str) -> Program:
        tokens = self.directory / "tokens.csv"
        tokens.write_text(f'{TOKEN},admin,1,"system:masters"\n')
        self._key = _signing_key(self.directory / SIGNING_KEY)
        policy = self.directory / "audit.yaml"
        policy.write_text(yaml.safe_dump(AUDITED))
        pair = self._authority.server(self.name)
        proxy = self._authority.client("front-proxy", FRONT_PROXY, ("system:masters",))
        return self._program(
            "kube-apiserver",
            f"--etcd-servers={etcd_url}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            f"--tls-cert-file={pair.certificate}",
            f"--tls-private-key-file={pair.key}",
            f"--client-ca-file={self._authority.pair.certificate}",
            f"--token-auth-file={tokens}",
            f"--service-account-key-file={self._key}",
            f"--service-account-signing-key-file={self._key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={self._addresses}.0.0/16",
            "--authorization-mode=RBAC",
            "--enable-bootstrap-token-auth",
            "--allow-privileged=true",
            f"--disable-admission-plugins={','.join(self._without_admission)}",
            f"--min-request-timeout={WATCH_SECONDS}",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self._audit_log}",
            f"--requestheader-client-ca-file={self._authority.pair.certificate}",
            f"--requestheader-allowed-names={FRONT_PROXY}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={proxy.certificate}",
            f"--proxy-client-key-file={proxy.key}",
        )

    def _manager(self, controllers: str) -> Program:
        return self._program(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self._key}",
            f"--root-ca-file={self._authority.pair.certificate}",
            f"--cluster-signing-cert-file={self._authority.pair.certificate}",
            f"--cluster-signing-key-file={self._authority.pair.key}",
            "--use-service-account-credentials=false",
            "--leader-elect=false",
            "--kube-api-qps=300",
            "--kube-api-burst=600",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            f"--controllers={controllers}",
            *(["--port=0"] if dialect_of(self.version).has_insecure_port else []),
        )

    def _program(self, binary: str, *arguments: str) -> Program:
        return Program(
            f"{self.name}/{binary}", [str(self.binaries / binary), *arguments], self.directory / f"{binary}.log"
        )

    def _write_kubeconfig(self) -> None:
        authority = str(self._authority.pair.certificate)
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": self.name,
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": "admin"}}],
            "clusters": [{"name": self.name, "cluster": {"server": self.url, "certificate-authority": authority}}],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
        }
        self.kubeconfig.write_text(yaml.safe_dump(document))


def _version_of(binary: Path) -> str:
    """`Kubernetes v1.20.2` is 1.20.2."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    return said.split()[1].removeprefix("v")


def _etcdctl(*arguments: str) -> None:
    """Raises: AssertionError."""
    command, environment = ["etcdctl", *arguments], {**os.environ, "ETCDCTL_API": "3"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_SECONDS, env=environment)
    assert done.returncode == 0, done.stderr


def _signing_key(path: Path) -> Path:
    """Key in a file; one that is there is kept."""
    if path.exists():
        return path
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    path.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return path
