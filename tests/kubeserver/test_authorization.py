"""RBAC as clients see it: what is allowed, what is refused and in which words, and who may grant what."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.transport import Request
from kubeserver.auth.authorization import Attributes, attributes_of
from kubeserver.auth.authorization.rules import Rule, matches, missing
from kubeserver.handler import ANONYMOUS, User
from kubeserver.inprocess import ADMIN
from tests.kubeserver.api_world import CONFIG_MAPS, Answer, ApiWorld, config_map, tell

GROUP = "rbac.authorization.k8s.io"
RBAC = f"/apis/{GROUP}/v1"
ROLES = f"{RBAC}/namespaces/default/roles"
BINDINGS = f"{RBAC}/namespaces/default/rolebindings"
ALICE = User("alice", ("dev", "system:authenticated"))


def rule(verbs: str, resources: str, group: str = "", names: str = "") -> Manifest:
    named = {"resourceNames": names.split()} if names else {}
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **named}


def role(name: str, *rules: Manifest, kind: str = "Role") -> Manifest:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "rules": list(rules)}


def binding(name: str, to: str, kind: str = "Role", whom: tuple[str, str] = ("User", "alice")) -> Manifest:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": to},
        "subjects": [{"kind": whom[0], "name": whom[1]}],
    }


async def grant(world: ApiWorld, *rules: Manifest, name: str = "r") -> None:
    assert (await world.create(ROLES, role(name, *rules))).code == 201
    assert (await world.create(BINDINGS, binding(name, name))).code == 201


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/api/v1/pods", {}, Attributes("list", "", "pods")),
        ("GET", "/api/v1/pods", {"watch": "1"}, Attributes("watch", "", "pods")),
        ("GET", "/api/v1/pods", {"fieldSelector": "metadata.name=x"}, Attributes("list", "", "pods", name="x")),
        ("GET", "/api/v1/namespaces/a/pods/b", {}, Attributes("get", "", "pods", "", "a", "b")),
        ("HEAD", "/api/v1/namespaces/a/pods/b", {}, Attributes("get", "", "pods", "", "a", "b")),
        ("POST", "/api/v1/namespaces/a/pods/b/exec", {}, Attributes("create", "", "pods", "exec", "a", "b")),
        ("GET", "/api/v1/namespaces/a", {}, Attributes("get", "", "namespaces", "", "a", "a")),
        ("PUT", "/api/v1/namespaces/a/status", {}, Attributes("update", "", "namespaces", "status", "a", "a")),
        ("DELETE", "/apis/g.io/v1/namespaces/a/x", {}, Attributes("deletecollection", "g.io", "x", namespace="a")),
        ("PATCH", "/apis/g.io/v1/things/x", {}, Attributes("patch", "g.io", "things", name="x")),
        ("GET", "/apis/apps/v1", {}, Attributes("get", path="/apis/apps/v1")),
        ("GET", "//api//v1//pods//", {}, Attributes("list", "", "pods")),
        ("GET", "/healthz", {}, Attributes("get", path="/healthz")),
    ],
)  # fmt: skip
def test_a_path_says_what_is_asked_for(method: str, path: str, query: dict[str, str], expected: Attributes) -> None:
    assert attributes_of(Request(method, path, query)) == expected


@pytest.mark.parametrize(
    ("allowed", "asked", "expected"),
    [
        (Rule(("get",), ("",), ("pods",)), Attributes("get", "", "pods", name="a"), True),
        (Rule(("get",), ("",), ("pods",)), Attributes("get", "", "pods", "log", name="a"), False),
        (Rule(("*",), ("*",), ("*",)), Attributes("get", "x", "pods", "log"), True),
        (Rule(("get",), ("",), ("*/scale",)), Attributes("get", "", "things", "scale"), True),
        (Rule(("get",), ("",), ("pods/*",)), Attributes("get", "", "pods", "log"), False),
        (Rule(("get",), ("apps",), ("pods",)), Attributes("get", "", "pods"), False),
        (Rule(("get",), ("",), ("pods",), ("a",)), Attributes("get", "", "pods", name="b"), False),
        (Rule(("list",), ("",), ("pods",), ("a",)), Attributes("list", "", "pods"), False),
        (Rule(("get",), non_resource_urls=("/healthz/*",)), Attributes("get", path="/healthz/ping"), True),
        (Rule(("get",), non_resource_urls=("/healthz",)), Attributes("get", path="/healthz/ping"), False),
        (Rule(("get",), non_resource_urls=("*",)), Attributes("get", "", "pods"), False),
    ],
)
def test_a_rule_matches_what_it_names(allowed: Rule, asked: Attributes, expected: bool) -> None:
    assert matches(allowed, asked) is expected


def test_what_is_not_covered_is_named_compactly() -> None:
    owned = [
        Rule(("get",), ("",), ("pods",)),
        Rule(("*",), ("apps",), ("*",)),
        Rule(("get",), non_resource_urls=("/a/*",)),
    ]
    wanted = [
        Rule(("get", "list", "watch"), ("",), ("pods",)),
        Rule(("delete",), ("apps",), ("deployments/scale",)),
        Rule(("get",), non_resource_urls=("/a/b", "/c")),
    ]
    assert list(map(str, missing(owned, wanted))) == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}',
        '{NonResourceURLs:["/c"], Verbs:["get"]}',
    ]


def test_a_rule_without_names_is_not_covered_by_one_with_names() -> None:
    named, unnamed = Rule(("get",), ("",), ("pods",), ("a",)), Rule(("get",), ("",), ("pods",))
    assert missing([named], [unnamed]) == [unnamed]
    assert missing([unnamed], [named]) == []


def test_what_a_role_allows_is_allowed_in_its_namespace_and_nowhere_else() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("get create", "configmaps"))
        assert (await world.call("POST", CONFIG_MAPS, config_map("a"), user=ALICE)).code == 201
        assert (await world.call("GET", f"{CONFIG_MAPS}/a", user=ALICE)).code == 200
        refused = await world.call("DELETE", f"{CONFIG_MAPS}/a", user=ALICE)
        assert (refused.code, refused.body["message"]) == (
            403,
            'configmaps "a" is forbidden: User "alice" cannot delete resource "configmaps" in API group "" '
            'in the namespace "default"',
        )
        elsewhere = await world.call("GET", "/api/v1/namespaces/kube-system/configmaps/a", user=ALICE)
        assert elsewhere.code == 403

    tell(story)


def test_a_role_with_nulls_in_it_takes_nothing_from_anybody() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("get", "configmaps"))
        await world.create(CONFIG_MAPS, config_map("a"))
        broken = {**rule("get", "pods"), "resourceNames": [None]}
        assert (await world.create(ROLES, {**role("broken"), "rules": [broken]})).code == 201
        assert (await world.create(ROLES, {**role("empty"), "rules": [None]})).code == 422
        nobody = {**binding("nobody", "broken"), "subjects": [None]}
        assert (await world.create(BINDINGS, nobody)).code == 422
        assert (await world.call("GET", f"{CONFIG_MAPS}/a", user=ALICE)).code == 200

    tell(story)


def test_a_stored_role_that_cannot_be_read_grants_nothing_and_takes_nothing() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("get", "configmaps"))
        await world.create(CONFIG_MAPS, config_map("a"))
        await world.store.put(f"/{GROUP}/roles/default/a", None, lambda _: b'{"rules":[{"verbs":[null]}]}')
        assert (await world.call("GET", f"{CONFIG_MAPS}/a", user=ALICE)).code == 200

    tell(story)


def test_an_apply_that_creates_needs_the_right_to_create() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("patch", "configmaps"))
        applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

        async def apply() -> Answer:
            query, content_type = {"fieldManager": "me"}, "application/apply-patch+yaml"
            path = f"{CONFIG_MAPS}/a"
            return await world.call("PATCH", path, applied, query=query, content_type=content_type, user=ALICE)

        refused = await apply()
        assert (refused.code, refused.body["message"]) == (
            403,
            'configmaps "a" is forbidden: User "alice" cannot create resource "configmaps" in API group "" '
            'in the namespace "default"',
        )
        await world.create(CONFIG_MAPS, config_map("a"))
        assert (await apply()).code == 200
        await world.delete(f"{CONFIG_MAPS}/a")
        await grant(world, rule("create", "configmaps"), name="creator")
        assert (await apply()).code == 201

    tell(story)


def test_an_update_that_creates_needs_the_right_to_create() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("update", "services"))
        path = "/api/v1/namespaces/default/services"
        service = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}

        async def update() -> Answer:
            return await world.call("PUT", f"{path}/a", service, user=ALICE)

        refused = await update()
        assert (refused.code, "cannot create resource" in refused.body["message"]) == (403, True)
        await world.create(path, service)
        assert (await update()).code == 200
        await world.delete(f"{path}/a")
        await grant(world, rule("create", "services"), name="creator")
        assert (await update()).code == 201

    tell(story)


def test_a_right_ends_with_its_binding_at_once() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("list", "configmaps"))
        assert (await world.call("GET", CONFIG_MAPS, user=ALICE)).code == 200
        await world.delete(f"{BINDINGS}/r")
        assert (await world.call("GET", CONFIG_MAPS, user=ALICE)).code == 403

    tell(story)


def test_a_binding_to_a_role_that_is_not_there_says_so() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(BINDINGS, binding("b", "none"))
        refused = await world.call("GET", CONFIG_MAPS, user=ALICE)
        assert refused.body["message"].endswith(f': RBAC: role.{GROUP} "none" not found')

    tell(story)


def test_a_cluster_role_may_be_bound_in_one_namespace_to_a_group() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(BINDINGS, binding("b", "view", "ClusterRole", ("Group", "dev")))
        assert (await world.call("GET", CONFIG_MAPS, user=ALICE)).code == 200
        assert (await world.call("GET", "/api/v1/namespaces/default/secrets", user=ALICE)).code == 403
        assert (await world.call("GET", "/api/v1/configmaps", user=ALICE)).code == 403

    tell(story)


def test_a_path_that_is_not_there_is_forbidden_before_it_is_not_found() -> None:
    async def story(world: ApiWorld) -> None:
        assert (await world.call("GET", "/nope", user=ALICE)).body["message"] == (
            'forbidden: User "alice" cannot get path "/nope"'
        )
        assert (await world.get("/nope")).code == 404
        assert (await world.call("GET", "/apis", user=ALICE)).code == 200
        assert (await world.call("GET", "/apis", user=ANONYMOUS)).code == 403

    tell(story)


def test_nobody_grants_more_than_they_have() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("create update patch get", "roles rolebindings", GROUP), rule("list", "configmaps"))
        assert (await world.call("POST", ROLES, role("same", rule("list", "configmaps")), user=ALICE)).code == 201
        more = await world.call("POST", ROLES, role("more", rule("get list", "secrets")), user=ALICE)
        assert (more.code, more.body["message"]) == (
            403,
            f'roles.{GROUP} "more" is forbidden: user "alice" (groups=["dev" "system:authenticated"]) is attempting '
            "to grant RBAC permissions not currently held:\n"
            '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
        )
        grown = {"rules": [rule("*", "*")]}
        changed = await world.call(
            "PATCH", f"{ROLES}/same", grown, content_type="application/merge-patch+json", user=ALICE
        )
        assert changed.code == 403
        bound = await world.call("POST", BINDINGS, binding("up", "admin", "ClusterRole"), user=ALICE)
        assert bound.code == 403
        assert (await world.call("POST", BINDINGS, binding("ok", "same"), user=ALICE)).code == 201

    tell(story)


def test_a_role_that_allows_millions_of_things_is_not_gone_through() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("create", "roles", group=GROUP))
        names = " ".join(f"n{number}" for number in range(1_000))
        huge = {**rule(names, names), "apiGroups": names.split()}
        refused = await world.call("POST", ROLES, role("huge", huge), user=ALICE)
        assert (refused.code, "more than 20000 single things" in refused.body["message"]) == (403, True)

    tell(story)


def test_the_verbs_escalate_and_bind_lift_the_check() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("create escalate", "roles", GROUP), rule("create", "rolebindings", GROUP))
        bind = role("binder", rule("bind", "clusterroles", GROUP, "view"), kind="ClusterRole")
        await world.create(f"{RBAC}/clusterroles", bind)
        await world.create(BINDINGS, binding("binder", "binder", "ClusterRole"))
        assert (await world.call("POST", ROLES, role("more", rule("get", "secrets")), user=ALICE)).code == 201
        assert (await world.call("POST", BINDINGS, binding("v", "view", "ClusterRole"), user=ALICE)).code == 201
        assert (await world.call("POST", BINDINGS, binding("e", "edit", "ClusterRole"), user=ALICE)).code == 403
        nowhere = await world.call("POST", BINDINGS, binding("n", "none"), user=ALICE)
        assert (nowhere.code, nowhere.body["message"]) == (404, f'roles.{GROUP} "none" not found')

    tell(story)


def test_only_who_may_impersonate_speaks_for_another() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("list", "configmaps"))

        async def as_bob(user: User, **headers: str) -> tuple[int, str]:
            request = Request("GET", CONFIG_MAPS, {}, {"accept": "application/json", **headers})
            answer = await world.server.handle(request, user)
            return getattr(answer, "code", 0), getattr(answer, "body", b"").decode()

        bob = {"impersonate-user": "bob"}
        code, said = await as_bob(ALICE, **bob)
        assert code == 403
        assert 'users \\"bob\\" is forbidden: User \\"alice\\" cannot impersonate resource \\"users\\"' in said
        masters = User("root", ("system:masters",))
        assert (await as_bob(masters, **bob))[0] == 403
        assert (await as_bob(masters, **bob, **{"impersonate-group": "x\nsystem:masters"}))[0] == 200
        assert (await as_bob(masters, **{"impersonate-user": "alice"}))[0] == 200
        assert (await as_bob(masters, **{"impersonate-group": "x"}))[0] == 400
        await world.create(
            f"{RBAC}/clusterroles", role("speaker", rule("impersonate", "users", names="bob"), kind="ClusterRole")
        )
        cluster_binding = {**binding("speaker", "speaker", "ClusterRole"), "kind": "ClusterRoleBinding"}
        await world.create(f"{RBAC}/clusterrolebindings", cluster_binding)
        assert 'User \\"bob\\" cannot list' in (await as_bob(ALICE, **bob))[1]
        assert (await as_bob(ALICE, **bob, **{"impersonate-group": "system:masters"}))[0] == 403
        assert (await as_bob(ALICE, **bob, **{"impersonate-extra-scopes": "x"}))[0] == 403
        assert (await as_bob(ALICE, **bob, **{"impersonate-uid": "x"}))[0] == 403

    tell(story)


def test_what_is_known_about_somebody_beyond_the_name_goes_along_with_an_impersonation() -> None:
    async def story(world: ApiWorld) -> None:
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        headers = {"impersonate-user": "bob", "impersonate-extra-example.com%2fteam": "blue\nred"}
        answer = await world.server.handle(Request("POST", path, {}, headers, b"{}"), ADMIN)
        assert b'"extra":{"example.com/team":["blue","red"]}' in getattr(answer, "body", b"")

    tell(story)


def access_review(kind: str, **spec: object) -> Manifest:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}


def test_reviews_answer_as_the_gate_would() -> None:
    async def story(world: ApiWorld) -> None:
        await grant(world, rule("list", "configmaps"))
        reviews, asked = (
            "/apis/authorization.k8s.io/v1",
            {"verb": "list", "resource": "configmaps", "namespace": "default"},
        )
        own = access_review("SelfSubjectAccessReview", resourceAttributes=asked)
        answer = await world.call("POST", f"{reviews}/selfsubjectaccessreviews", own, user=ALICE)
        reason = 'RBAC: allowed by RoleBinding "r/default" of Role "r" to User "alice"'
        assert answer.body["status"] == {"allowed": True, "reason": reason}
        other = access_review("SubjectAccessReview", user="bob", resourceAttributes=asked)
        assert (await world.create(f"{reviews}/subjectaccessreviews", other)).body["status"] == {"allowed": False}
        assert (await world.call("POST", f"{reviews}/subjectaccessreviews", other, user=ALICE)).code == 403
        local = access_review("LocalSubjectAccessReview", user="alice", resourceAttributes=asked)
        path = f"{reviews}/namespaces/default/localsubjectaccessreviews"
        assert (await world.create(path, local)).body["status"]["allowed"]
        assert (await world.create(path.replace("default", "kube-system"), local)).code == 422
        rules = access_review("SelfSubjectRulesReview", namespace="default")
        status = (await world.call("POST", f"{reviews}/selfsubjectrulesreviews", rules, user=ALICE)).body["status"]
        assert {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]} in status["resourceRules"]
        assert status["incomplete"] is False

    tell(story)


def test_the_first_roles_are_made_once_and_left_alone() -> None:
    async def story(world: ApiWorld) -> None:
        names = (await world.get(f"{RBAC}/clusterroles")).names
        assert {"cluster-admin", "admin", "edit", "view", "system:discovery", "system:basic-user"} <= set(names)
        bound = await world.get(f"{RBAC}/clusterrolebindings/cluster-admin")
        assert bound.body["subjects"] == [{"apiGroup": GROUP, "kind": "Group", "name": "system:masters"}]

    tell(story)
