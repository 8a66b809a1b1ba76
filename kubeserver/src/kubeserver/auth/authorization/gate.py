"""The gate before everything else: as whom is a request made, and may they?

Impersonation is asked of the one who authenticated; the request itself of the one who is impersonated.
"""

import re

from kubeapi.status import Status, StatusDetails
from kubeapi.transport import Request
from kubeserver.auth.authorization.attributes import Attributes, attributes_of
from kubeserver.auth.authorization.interface import Authorizer
from kubeserver.auth.authorization.rbac import SERVICE_ACCOUNT_PREFIX
from kubeserver.auth.authorization.rules import quoted
from kubeserver.errors import Refused, bad_request
from kubeserver.handler import ADMIN_GROUP, ANONYMOUS, User

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
IDENTITY_GROUP = "authentication.k8s.io"
_EXTRA = "impersonate-extra-"
_ESCAPES = re.compile("%[0-9a-fA-F]{2}")


class Gate:
    """Lets requests through, or not."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def admit(self, request: Request, user: User) -> User:
        """The user in whose name `request` goes on. Raises: Refused."""
        acting = self._impersonated(request, user)
        if ADMIN_GROUP not in acting.groups:
            self.check(acting, attributes_of(request))
        return acting

    def check(self, user: User, attributes: Attributes) -> None:
        """Raises: Refused, in the words of kube-apiserver."""
        decision = self._authorizer.decide(user, attributes)
        if not decision.allowed:
            raise forbidden(user, attributes, decision.reason)

    def _impersonated(self, request: Request, user: User) -> User:
        wanted = _wanted(request)
        if wanted is None:
            return user
        if not wanted.name:
            groups = ", ".join(f'"{group}"' for group in wanted.groups)
            raise bad_request(
                f'requested &user.DefaultInfo{{Name:"", UID:"{wanted.uid}", Groups:[]string{{{groups}}}, '
                "Extra:map[string][]string(nil)} without impersonating a user name"
            )
        for attributes in _claims(wanted):
            self.check(user, attributes)
        return _with_implied_groups(wanted)


def forbidden(user: User, asked: Attributes, reason: str = "") -> Refused:
    why = f": {reason}" if reason else ""
    if asked.path:
        message = f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"{why}'
        return _refused(message, StatusDetails())
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    what = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    named = f' "{asked.name}"' if asked.name else ""
    message = (
        f'{what}{named} is forbidden: User "{user.name}" cannot {asked.verb} resource "{asked.full_resource}" '
        f'in API group "{asked.group}" {where}{why}'
    )
    return _refused(message, StatusDetails(name=asked.name, group=asked.group, kind=asked.resource))


def describe(user: User) -> str:
    return f'user "{user.name}" (groups={quoted(user.groups)})'


def _refused(message: str, details: StatusDetails) -> Refused:
    return Refused(Status(message=message, reason="Forbidden", details=details, code=403))


def _wanted(request: Request) -> User | None:
    """User who is to be impersonated; None when nobody is. Repeated headers come as lines of one."""
    headers = request.headers
    if not any(key.startswith("impersonate-") for key in headers):
        return None
    groups = tuple(filter(None, headers.get("impersonate-group", "").split("\n")))
    extra = tuple((_extra_key(name), tuple(headers[name].split("\n"))) for name in headers if name.startswith(_EXTRA))
    return User(headers.get("impersonate-user", ""), groups, headers.get("impersonate-uid", ""), extra)


def _extra_key(header: str) -> str:
    return _ESCAPES.sub(lambda found: chr(int(found[0][1:], 16)), header.removeprefix(_EXTRA))


def _claims(wanted: User) -> list[Attributes]:
    """Attributes of each single thing that must be allowed."""
    claims = [_name_claim(wanted.name)]
    claims += [Attributes("impersonate", resource="groups", name=group) for group in wanted.groups]
    if wanted.uid:
        claims.append(Attributes("impersonate", IDENTITY_GROUP, "uids", name=wanted.uid))
    for key, values in wanted.extra:
        claims += [Attributes("impersonate", IDENTITY_GROUP, "userextras", key, name=value) for value in values]
    return claims


def _name_claim(name: str) -> Attributes:
    namespace, _, account = name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    if name.startswith(SERVICE_ACCOUNT_PREFIX) and account:
        return Attributes("impersonate", resource="serviceaccounts", namespace=namespace, name=account)
    return Attributes("impersonate", resource="users", name=name)


def _with_implied_groups(user: User) -> User:
    groups = list(user.groups)
    namespace, _, account = user.name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    if not groups and user.name.startswith(SERVICE_ACCOUNT_PREFIX) and account:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    implied = UNAUTHENTICATED if user.name == ANONYMOUS.name else AUTHENTICATED
    if AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups.append(implied)
    return User(user.name, tuple(groups), user.uid, user.extra)
