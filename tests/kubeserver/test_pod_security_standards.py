"""The Pod Security Standards: what violates them, in Kubernetes' words, and since which version."""

from collections.abc import Mapping
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.admission.pod_security.evaluation import details, reasons, violations
from kubeserver.admission.pod_security.existing import MAX_PODS, is_to_look, warnings
from kubeserver.admission.pod_security.pods import Pod
from kubeserver.admission.pod_security.standards import Level, Policy, Standard, read_policy

BASELINE, RESTRICTED = Standard(Level.BASELINE), Standard(Level.RESTRICTED)
LABELS = "pod-security.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_OF = "container.seccomp.security.alpha.kubernetes.io/"
CONFINED: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def _container(name: str, security: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "securityContext": {**CONFINED, **(security or {})}, **fields}


def _in(*containers: dict[str, Any], **spec: Any) -> Pod:
    return Pod({}, {"containers": list(containers) or [_container("a")], **spec})


def _with(**security: Any) -> Pod:
    """Two containers that both have this in their security context."""
    return _in(_container("a", security), initContainers=[_container("b", security)])


def _annotated(**annotations: str) -> Pod:
    return Pod(annotations, {"containers": [_container("a"), _container("b")]})


def _judged(standard: Standard, pod: Pod) -> str:
    return details(violations(standard, pod))


VIOLATIONS: list[tuple[Standard, Pod, str]] = [
    (
        BASELINE,
        _in(_container("a", {"appArmorProfile": {"type": "Unconfined"}})),
        'forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")',
    ),
    (
        BASELINE,
        Pod({f"{APP_ARMOR}a": "unconfined"}, {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}),
        "forbidden AppArmor profiles (pod and annotation must not set AppArmor profile type to "
        f'"Unconfined", "{APP_ARMOR}a="unconfined"")',
    ),
    (
        BASELINE,
        _with(capabilities={"drop": ["ALL"], "add": ["SYS_ADMIN", "CHOWN", "NET_RAW"]}),
        'non-default capabilities (containers "b", "a" must not include "NET_RAW", "SYS_ADMIN" '
        "in securityContext.capabilities.add)",
    ),
    (
        BASELINE,
        _in(hostNetwork=True, hostPID=True, hostIPC=True),
        "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
    ),
    (
        BASELINE,
        _in(volumes=[{"name": "x", "hostPath": {"path": "/"}}, {"name": "y", "emptyDir": {}}]),
        'hostPath volumes (volume "x")',
    ),
    (
        BASELINE,
        _in(_container("a", ports=[{"containerPort": 1}, {"containerPort": 1, "hostPort": 80}])),
        'hostPort (container "a" uses hostPort 80)',
    ),
    (
        BASELINE,
        _in(_container("a", ports=[{"hostPort": 9}]), ephemeralContainers=[_container("e", ports=[{"hostPort": 10}])]),
        'hostPort (containers "a", "e" use hostPorts 10, 9)',
    ),
    (
        BASELINE,
        _in(_container("a", livenessProbe={"httpGet": {"port": 1, "host": "10.0.0.1"}})),
        'probe or lifecycle host (container "a" uses probe or lifecycle host "10.0.0.1")',
    ),
    (
        BASELINE,
        _in(
            _container("b", startupProbe={"tcpSocket": {"host": "y"}}, readinessProbe={"tcpSocket": {"port": 1}}),
            _container("a", lifecycle={"preStop": {"httpGet": {"host": "x"}}, "postStart": {"exec": {}}}),
        ),
        'probe or lifecycle host (containers "a", "b" use probe or lifecycle hosts "x", "y")',
    ),
    (
        BASELINE,
        _in(_container("a", {"privileged": True}), _container("b", {"privileged": False})),
        'privileged (container "a" must not set securityContext.privileged=true)',
    ),
    (
        BASELINE,
        _with(procMount="Unmasked"),
        'procMount (containers "b", "a" must not set securityContext.procMount to "Unmasked")',
    ),
    (
        BASELINE,
        _in(
            _container("a", {"seLinuxOptions": {"type": "spc_t"}}),
            _container("b", {"seLinuxOptions": {"type": "container_engine_t"}}),
            securityContext={"seLinuxOptions": {"user": "u", "role": "r", "level": "s0"}},
        ),
        'seLinuxOptions (pod and container "a" set forbidden securityContext.seLinuxOptions: '
        'type "spc_t"; user may not be set; role may not be set)',
    ),
    (
        BASELINE,
        _with(seccompProfile={"type": "Unconfined"}),
        'seccompProfile (containers "b", "a" must not set securityContext.seccompProfile.type to "Unconfined")',
    ),
    (
        Standard(Level.BASELINE, 18),
        _annotated(**{SECCOMP: "unconfined", f"{SECCOMP_OF}a": "odd", f"{SECCOMP_OF}b": "docker/default"}),
        f'seccompProfile (forbidden annotations {SECCOMP_OF}a="odd", {SECCOMP}="unconfined")',
    ),
    (
        BASELINE,
        _in(securityContext={"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_rmem"}, {"name": "a.b"}]}),
        "forbidden sysctls (kernel.msgmax, a.b)",
    ),
    (
        BASELINE,
        _in(
            _container("a", {"windowsOptions": {"hostProcess": True}}),
            securityContext={"windowsOptions": {"hostProcess": True}},
        ),
        'hostProcess (pod and container "a" must not set securityContext.windowsOptions.hostProcess=true)',
    ),
    (
        RESTRICTED,
        _in(_container("a", {"allowPrivilegeEscalation": True}), _container("b", {"allowPrivilegeEscalation": None})),
        'allowPrivilegeEscalation != false (containers "a", "b" must set '
        "securityContext.allowPrivilegeEscalation=false)",
    ),
    (
        RESTRICTED,
        _in(
            _container("a", {"capabilities": {"add": ["CHOWN", "NET_BIND_SERVICE"]}}),
            _container("b", {"capabilities": {}}),
        ),
        'unrestricted capabilities (containers "a", "b" must set securityContext.capabilities.drop=["ALL"]; '
        'container "a" must not include "CHOWN" in securityContext.capabilities.add)',
    ),
    (
        RESTRICTED,
        _in(volumes=[{"name": "x", "hostPath": {"path": "/"}}, {"name": "z", "nfs": {}}, {"name": "y", "image": {}}]),
        'restricted volume types (volumes "x", "z" use restricted volume types "hostPath", "nfs")',
    ),
    (
        RESTRICTED,
        _in(volumes=[{"name": "x", "iscsi": {}}]),
        'restricted volume types (volume "x" uses restricted volume type "iscsi")',
    ),
    (
        RESTRICTED,
        _with(runAsNonRoot=None),
        'runAsNonRoot != true (pod or containers "b", "a" must set securityContext.runAsNonRoot=true)',
    ),
    (
        RESTRICTED,
        _in(_container("a", {"runAsNonRoot": False}), securityContext={"runAsNonRoot": False}),
        'runAsNonRoot != true (pod and container "a" must not set securityContext.runAsNonRoot=false)',
    ),
    (
        RESTRICTED,
        _in(_container("a", {"runAsUser": 0}), _container("b", {"runAsUser": 1})),
        'runAsUser=0 (container "a" must not set runAsUser=0)',
    ),
    (
        RESTRICTED,
        _with(seccompProfile=None),
        'seccompProfile (pod or containers "b", "a" must set securityContext.seccompProfile.type to '
        '"RuntimeDefault" or "Localhost")',
    ),
    (
        RESTRICTED,
        _in(_container("a", {"seccompProfile": None}), securityContext={"seccompProfile": {"type": "Unconfined"}}),
        'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ),
    *(
        (
            RESTRICTED,
            _in(_container("a", {"procMount": "Unmasked"}), hostUsers=of_the_host),
            'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
        )
        for of_the_host in (False, True)
    ),
]


@pytest.mark.parametrize(
    ("standard", "pod", "said"), VIOLATIONS, ids=[said.partition(" (")[0] for *_, said in VIOLATIONS]
)
def test_a_violation_says_who_and_what(standard: Standard, pod: Pod, said: str):
    assert _judged(standard, pod) == said
    assert _judged(Standard(Level.PRIVILEGED), pod) == ""


ALLOWED: list[tuple[Standard, Pod]] = [
    (RESTRICTED, _in()),
    (RESTRICTED, _in(_container("a", {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}))),
    (RESTRICTED, _in(_container("a", {"runAsNonRoot": None}), securityContext={"runAsNonRoot": True})),
    (
        RESTRICTED,
        _in(_container("a", {"seccompProfile": None}), securityContext={"seccompProfile": {"type": "Localhost"}}),
    ),
    (RESTRICTED, _in({"name": "a"}, os={"name": "windows"}, securityContext={"runAsNonRoot": True})),
    (RESTRICTED, _in(_container("a", {"runAsNonRoot": False, "runAsUser": 0}), hostUsers=False)),
    (RESTRICTED, _in(_container("a", {"procMount": "Default", "runAsUser": 1000, "privileged": False}))),
    (RESTRICTED, _annotated(**{f"{APP_ARMOR}a": "localhost/own", f"{APP_ARMOR}b": "", SECCOMP: "unconfined"})),
    (BASELINE, _in({"name": "a"}, hostNetwork=False)),
    (BASELINE, _in(_container("a", {"procMount": "Unmasked"}), hostUsers=False)),
    (BASELINE, _in(_container("a", {"seLinuxOptions": {"type": "container_engine_t", "level": "s0"}}))),
    (BASELINE, _in(_container("a", {"appArmorProfile": {"type": "Localhost", "localhostProfile": "p"}}))),
]


@pytest.mark.parametrize(("standard", "pod"), ALLOWED)
def test_what_is_confined_is_let_in(standard: Standard, pod: Pod):
    assert _judged(standard, pod) == ""


SINCE: list[tuple[Level, int, Pod, str, str]] = [
    (Level.BASELINE, 19, _with(seccompProfile={"type": "Unconfined"}), "", "seccompProfile"),
    (Level.BASELINE, 31, _with(seLinuxOptions={"type": "container_engine_t"}), "seLinuxOptions", ""),
    (Level.BASELINE, 34, _in(_container("a", livenessProbe={"httpGet": {"host": "x"}})), "", "probe or lifecycle host"),
    (Level.BASELINE, 35, _in(_container("a", {"procMount": "Unmasked"}), hostUsers=False), "procMount", ""),
    *(
        (Level.BASELINE, since, _in(securityContext={"sysctls": [{"name": name}]}), "forbidden sysctls", "")
        for since, name in (
            (27, "net.ipv4.ip_local_reserved_ports"),
            (29, "net.ipv4.tcp_fin_timeout"),
            (32, "net.ipv4.tcp_wmem"),
        )
    ),
    (Level.RESTRICTED, 8, _with(allowPrivilegeEscalation=True), "", "allowPrivilegeEscalation != false"),
    (Level.RESTRICTED, 19, _with(seccompProfile=None), "", "seccompProfile"),
    (Level.RESTRICTED, 22, _with(capabilities={}), "", "unrestricted capabilities"),
    (
        Level.RESTRICTED,
        22,
        _with(capabilities={"drop": ["ALL"], "add": ["BPF"]}),
        "non-default capabilities",
        "unrestricted capabilities",
    ),
    (Level.RESTRICTED, 23, _with(runAsUser=0), "", "runAsUser=0"),
    (
        Level.RESTRICTED,
        25,
        _in({"name": "a"}, os={"name": "windows"}, securityContext={"runAsNonRoot": True}),
        "allowPrivilegeEscalation != false, unrestricted capabilities, seccompProfile",
        "",
    ),
    (Level.RESTRICTED, 35, _in(_container("a", {"runAsNonRoot": False}), hostUsers=False), "runAsNonRoot != true", ""),
    (Level.RESTRICTED, 35, _in(_container("a", {"runAsUser": 0}), hostUsers=False), "runAsUser=0", ""),
]


@pytest.mark.parametrize(("level", "since", "pod", "before", "after"), SINCE)
def test_a_rule_counts_as_of_its_version(level: Level, since: int, pod: Pod, before: str, after: str):
    assert reasons(violations(Standard(level, since - 1), pod)) == before
    for minor in (since, 99, None):
        assert reasons(violations(Standard(level, minor), pod)) == after


def test_all_violations_are_told_in_the_order_of_their_checks():
    pod = _in(
        {"name": "a", "securityContext": {"privileged": True, "runAsUser": 0}},
        hostPID=True,
        volumes=[{"name": "v", "nfs": {}}],
    )
    assert reasons(violations(RESTRICTED, pod)) == (
        "host namespaces, privileged, allowPrivilegeEscalation != false, unrestricted capabilities, "
        "restricted volume types, runAsNonRoot != true, runAsUser=0, seccompProfile"
    )


READ: list[tuple[dict[str, str], str, str, str]] = [
    ({}, "privileged:latest", "privileged:latest", "privileged:latest"),
    ({"enforce": "baseline"}, "baseline:latest", "privileged:latest", "baseline:latest"),
    ({"enforce": "baseline", "enforce-version": "v1.22"}, "baseline:v1.22", "privileged:latest", "baseline:v1.22"),
    ({"enforce": "baseline", "warn-version": "v1.9"}, "baseline:latest", "privileged:latest", "baseline:v1.9"),
    ({"enforce": "baseline", "warn": "privileged"}, "baseline:latest", "privileged:latest", "privileged:latest"),
    (
        {"enforce": "baseline", "audit": "restricted", "audit-version": "v1.0", "warn": "restricted"},
        "baseline:latest",
        "restricted:v1.0",
        "restricted:latest",
    ),
    ({"enforce": "odd"}, "restricted:latest", "privileged:latest", "privileged:latest"),
    ({"audit": "odd", "warn": "odd"}, "privileged:latest", "privileged:latest", "privileged:latest"),
]


@pytest.mark.parametrize(("labels", "enforce", "audit", "warn"), READ)
def test_labels_make_a_policy(labels: dict[str, str], enforce: str, audit: str, warn: str):
    policy, _ = read_policy({f"{LABELS}{label}": value for label, value in labels.items()})
    assert (str(policy.enforce), str(policy.audit), str(policy.warn)) == (enforce, audit, warn)


@pytest.mark.parametrize(
    ("label", "value", "said"),
    [
        ("enforce", "strict", "must be one of privileged, baseline, restricted"),
        ("warn", "", "must be one of privileged, baseline, restricted"),
        *(
            ("audit-version", version, 'must be "latest" or "v1.x"')
            for version in ("v2.0", "1.25", "v1.01", "v1.", "v1.99999999999999999999")
        ),
    ],
)
def test_labels_that_cannot_be_read_are_named(label: str, value: str, said: str):
    policy, problems = read_policy({f"{LABELS}{label}": value})
    assert [str(problem) for problem in problems] == [
        f'metadata.labels[{LABELS}{label}]: Invalid value: "{value}": {said}'
    ]
    assert policy == (Policy() if label != "enforce" else Policy(enforce=RESTRICTED))


@pytest.mark.parametrize(
    ("before", "after", "looks"),
    [
        (BASELINE, RESTRICTED, True),
        (RESTRICTED, BASELINE, False),
        (BASELINE, BASELINE, False),
        (RESTRICTED, Standard(Level.BASELINE, 20), True),
        (Standard(Level.BASELINE, 20), Standard(), False),
    ],
)
def test_pods_are_looked_at_when_they_may_be_wrong_now(before: Standard, after: Standard, looks: bool):
    assert is_to_look(before, after) is looks


def test_pods_that_violate_the_same_are_told_of_as_one():
    def named(name: str, **spec: Any) -> Manifest:
        return {"metadata": {"name": name}, "spec": {"containers": [_container("a")], **spec}}

    pods = [
        named("d", hostPID=True),
        named("c"),
        *(named(f"b-{number}", hostNetwork=True) for number in (2, 1)),
        *(named(f"a-{number}", volumes=[{"name": "v", "hostPath": {}}]) for number in range(2)),
    ]
    assert list(warnings("shop", BASELINE, pods, MAX_PODS + len(pods))) == [
        f"new PodSecurity enforce level only checked against the first 6 of {MAX_PODS + 6} existing pods",
        'existing pods in namespace "shop" violate the new PodSecurity enforce level "baseline:latest"',
        "a-0 (and 1 other pod): hostPath volumes",
        "b-1 (and 2 other pods): host namespaces",
    ]
