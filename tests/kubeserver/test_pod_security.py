"""PodSecurity: what the labels of a namespace refuse, warn of and note."""

from typing import Any

import pytest

from kubeapi import codec
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import Manifest
from kubeapi.transport import Request
from kubeserver.admission.pod_security import judging
from kubeserver.handlers.audit import Audit
from kubeserver.inprocess import ADMIN
from tests.kubeserver.api_world import DEPLOYMENTS, PODS, Answer, ApiWorld, deployment, pod, tell
from tests.kubeserver.webhooks import MUTATING, InProcessWebhooks, mutating, patch, rule, webhook

NAMESPACES = "/api/v1/namespaces"
DEFAULT = f"{NAMESPACES}/default"
LABELS = "pod-security.kubernetes.io/"
HOST = "host namespaces (hostPID=true)"
OPEN = (
    'allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false), '
    'unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "main" must set securityContext.seccompProfile.type to '
    '"RuntimeDefault" or "Localhost")'
)
CONFINED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


async def _label(world: ApiWorld, **labels: str | None) -> Answer:
    """Gives these labels to the namespace `default`; `enforce_version` is `enforce-version`."""
    named = {f"{LABELS}{label.replace('_', '-')}": value for label, value in labels.items()}
    return await world.patch(DEFAULT, {"metadata": {"labels": named}})


def _warnings(answer: Answer) -> list[str]:
    said = answer.headers.get("warning", "")
    return [
        text.replace('\\"', '"') for text in said.removeprefix('299 - "').removesuffix('"').split('", 299 - "') if text
    ]


def test_a_namespace_without_labels_lets_everything_in():
    async def story(world: ApiWorld) -> None:
        made = await world.create(PODS, pod("a", hostPID=True))
        assert (made.code, _warnings(made)) == (201, [])

    tell(story)


def test_what_is_enforced_is_refused():
    async def story(world: ApiWorld) -> None:
        assert _warnings(await _label(world, enforce="restricted")) == []
        refused = await world.create(PODS, pod("a", hostPID=True))
        assert (refused.code, refused.body["reason"]) == (403, "Forbidden")
        assert refused.body["details"] == {"name": "a", "kind": "pods"}
        assert (
            refused.body["message"]
            == f'pods "a" is forbidden: violates PodSecurity "restricted:latest": {HOST}, {OPEN}'
        )
        assert _warnings(refused) == []
        assert (await world.create(PODS, pod("a"), dryRun="All")).code == 403
        confined = [{"name": "main", "image": "image:1", "securityContext": CONFINED}]
        assert (await world.create(PODS, pod("a", containers=confined))).code == 201

    tell(story)


def test_the_rules_are_those_of_the_version():
    async def story(world: ApiWorld) -> None:
        await _label(world, enforce="restricted", enforce_version="v1.7")
        refused = await world.create(PODS, pod("a"))
        assert refused.body["message"] == (
            'pods "a" is forbidden: violates PodSecurity "restricted:v1.7": '
            'runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true)'
        )

    tell(story)


def test_what_others_make_of_a_pod_is_judged():
    async def story(world: ApiWorld) -> None:
        await _label(world, enforce="baseline")
        await world.create(MUTATING, mutating("sharing", webhook("share", rule("pods"))))
        refused = await world.create(PODS, pod("a"))
        assert refused.body["message"] == f'pods "a" is forbidden: violates PodSecurity "baseline:latest": {HOST}'

    share = patch({"op": "add", "path": "/spec/hostPID", "value": True})
    tell(story, webhook_client=InProcessWebhooks(share=share))


def test_a_pod_that_is_there_may_change_where_that_is_not_judged():
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("a", hostPID=True, initContainers=[{"name": "first", "image": "image:1"}]))
        await _label(world, enforce="baseline")
        assert (await world.patch(f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}})).code == 200
        status = await world.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}})
        assert (status.code, _warnings(status)) == (200, [])
        for field in ("containers", "initContainers"):
            image = [{"op": "replace", "path": f"/spec/{field}/0/image", "value": "image:2"}]
            refused = await world.patch(f"{PODS}/a", image, "application/json-patch+json")
            assert refused.body["message"] == f'pods "a" is forbidden: violates PodSecurity "baseline:latest": {HOST}'
        assert (await world.delete(f"{PODS}/a")).code == 200

    tell(story)


def test_a_container_that_is_added_is_judged():
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("a"))
        await _label(world, enforce="baseline")

        async def add(**fields: Any) -> Answer:
            added = [{"name": "debug", "image": "i", **fields}]
            path, spec = f"{PODS}/a/ephemeralcontainers", {"spec": {"ephemeralContainers": added}}
            return await world.patch(path, spec, "application/strategic-merge-patch+json")

        refused = await add(securityContext={"privileged": True})
        assert refused.body["message"] == (
            'pods "a" is forbidden: violates PodSecurity "baseline:latest": '
            'privileged (container "debug" must not set securityContext.privileged=true)'
        )
        assert (await add()).code == 200

    tell(story)


def _templates() -> list[tuple[str, Manifest]]:
    labels = {"matchLabels": {"app": "a"}}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod("a", hostPID=True)["spec"]}
    once = {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}
    metadata = {"name": "a"}
    workload = {"metadata": metadata, "spec": {"selector": labels, "template": template}}
    apps, batch = "/apis/apps/v1/namespaces/default", "/apis/batch/v1/namespaces/default"
    return [
        *((f"{apps}/{plural}", workload) for plural in ("daemonsets", "deployments", "replicasets", "statefulsets")),
        (f"{batch}/jobs", {"metadata": metadata, "spec": {"template": once}}),
        (
            f"{batch}/cronjobs",
            {"metadata": metadata, "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": once}}}},
        ),
        (f"{DEFAULT}/podtemplates", {"metadata": metadata, "template": template}),
        (f"{DEFAULT}/replicationcontrollers", {"metadata": metadata, "spec": {"template": template}}),
    ]


@pytest.mark.parametrize(("path", "holder"), _templates(), ids=[path.rpartition("/")[2] for path, _ in _templates()])
def test_what_makes_pods_is_warned_of_and_never_refused(path: str, holder: Manifest):
    async def story(world: ApiWorld) -> None:
        await _label(world, enforce="baseline")
        made = await world.create(path, holder)
        said = f'would violate PodSecurity "baseline:latest": {HOST}'
        assert (made.code, _warnings(made)) == (201, [said])
        again = await world.patch(f"{path}/a", {"metadata": {"labels": {"a": "b"}}})
        assert (again.code, _warnings(again)) == (200, [said])

    tell(story)


def test_to_scale_is_not_to_change_a_template():
    async def story(world: ApiWorld) -> None:
        await world.create(DEPLOYMENTS, deployment("a"))
        await _label(world, warn="restricted")
        scaled = await world.patch(f"{DEPLOYMENTS}/a/scale", {"spec": {"replicas": 2}})
        assert (scaled.code, _warnings(scaled)) == (200, [])
        made = await world.create(PODS, pod("a"))
        assert _warnings(made) == [f'would violate PodSecurity "restricted:latest": {OPEN}']

    tell(story)


def test_labels_that_cannot_be_read_are_refused_when_they_are_new():
    async def story(world: ApiWorld) -> None:
        labels = {f"{LABELS}enforce": "strict", f"{LABELS}warn-version": "1.25"}
        refused = await world.create(NAMESPACES, {"metadata": {"name": "shop", "labels": labels}})
        assert (refused.code, refused.body["reason"]) == (422, "Invalid")
        known = "must be one of privileged, baseline, restricted"
        level = f'metadata.labels[{LABELS}enforce]: Invalid value: "strict": {known}'
        version = f'metadata.labels[{LABELS}warn-version]: Invalid value: "1.25": must be "latest" or "v1.x"'
        assert refused.body["message"] == f'Namespace "shop" is invalid: [{level}, {version}]'
        changed = await _label(world, enforce="strict")
        assert changed.body["message"] == f'Namespace "default" is invalid: {level}'

    tell(story)


def test_labels_that_could_never_be_read_stay_and_let_nobody_in():
    async def story(world: ApiWorld) -> None:
        key = "//namespaces//default"
        there = world.store.head(key)
        assert there is not None
        stored = codec.decode_manifest(there.value)
        stored["metadata"]["labels"] = {f"{LABELS}enforce": "strict"}
        await world.store.put(key, there, lambda _: codec.encode(stored))
        assert (await world.patch(DEFAULT, {"metadata": {"annotations": {"a": "b"}}})).code == 200
        refused = await world.create(PODS, pod("a"))
        assert refused.body["message"] == f'pods "a" is forbidden: violates PodSecurity "restricted:latest": {OPEN}'
        assert _warnings(await world.create(DEPLOYMENTS, deployment("a"))) == []

    tell(story)


def test_no_more_pods_are_looked_at_than_may_be(monkeypatch: pytest.MonkeyPatch):
    async def story(world: ApiWorld) -> None:
        for name in ("c", "b", "a"):
            await world.create(PODS, pod(name, hostPID=True))
        assert _warnings(await _label(world, enforce="baseline")) == [
            "new PodSecurity enforce level only checked against the first 2 of 3 existing pods",
            'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
            "a (and 1 other pod): host namespaces",
        ]

    monkeypatch.setattr(judging, "MAX_PODS", 2)
    tell(story)


def test_pods_that_are_there_are_told_of_when_a_standard_begins_to_count():
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("a", hostPID=True))
        await world.create(PODS, pod("b", hostNetwork=True))
        await world.create(PODS, pod("c"))
        said = [
            'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
            "a (and 1 other pod): host namespaces",
        ]
        tried = await world.patch(DEFAULT, {"metadata": {"labels": {f"{LABELS}enforce": "baseline"}}}, dryRun="All")
        assert _warnings(tried) == said
        assert (await world.create(PODS, pod("d", hostPID=True))).code == 201
        assert _warnings(await _label(world, enforce="baseline"))[1:] == ["a (and 2 other pods): host namespaces"]
        assert _warnings(await _label(world, audit="restricted")) == []
        assert _warnings(await _label(world, enforce=None)) == []

    tell(story)


def test_the_audit_log_is_told():
    async def story(world: ApiWorld) -> None:
        lines: list[bytes] = []
        audit = Audit(world.server, lines.append, VirtualClock(), Randomness(1))

        async def notes(path: str, manifest: Manifest) -> dict[str, str]:
            headers = {"accept": "application/json", "content-type": "application/json"}
            await audit.handle(Request("POST", path, {}, headers, codec.encode(manifest)), ADMIN)
            written = codec.decode_manifest(lines.pop()).get("annotations", {})
            return {key.removeprefix(LABELS): value for key, value in written.items()}

        assert await notes(PODS, pod("a")) == {"enforce-policy": "privileged:latest"}
        await _label(world, enforce="baseline", audit="restricted", audit_version="v1.7")
        said = 'would violate PodSecurity "restricted:v1.7": '
        root = 'runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true)'
        assert await notes(PODS, pod("b", hostPID=True)) == {
            "enforce-policy": "baseline:latest",
            "audit-violations": f"{said}{HOST}, {root}",
        }
        assert await notes(DEPLOYMENTS, deployment("a")) == {"audit-violations": f"{said}{root}"}

    tell(story)
