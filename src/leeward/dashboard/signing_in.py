"""Signing in and out: with a bearer token of the control plane, or with the link that the dashboard was started with.

    GET     who is signed in, and what may be done
    POST    {"token": ...}, or {"key": ...} for the dashboard's own identity
    DELETE  ends the session

A token is tried before it opens a session: the control plane says whose it is. It stays in memory, and is never told.
"""

import asyncio
import hmac
from dataclasses import replace
from typing import Any

import msgspec
from aiohttp import web

from kubeapi import codec
from leeward.client import Client, Forbidden, NotFound, Unauthorized, WorldError
from leeward.client.connection import Connection, transport_of
from leeward.dashboard.context import DashboardContext, answered, failed
from leeward.dashboard.rights import ACTION_RIGHTS, may, name_of_token, name_of_user
from leeward.dashboard.sessions import LONGEST_SECONDS, Session

SIGN_INS_AT_ONCE = 4
MAX_TOKEN_LETTERS = 16 * 1024
ADMINISTRATOR = "kubeconfig"
"""Name of the dashboard's own identity where the control plane does not tell."""
NOT_OURS = "this link is not of this dashboard: take the one that it has printed"
NOT_ANSWERED = """The control plane does not answer, so nobody can sign in.
That says nothing about the clusters: they go on. Open the link again in a moment. What was said"""
UNNAMED = "a user"
"""Name of all others there: they have the bounds of one user together."""


class _SignIn(msgspec.Struct, frozen=True):
    token: str = ""
    key: str = ""


class SessionView(msgspec.Struct, frozen=True, rename="camel"):
    """`by_link`: there is a way in by the link that `leeward dashboard` has printed.

    `actions` are what the user may do, by name: empty text where they may, else why not.
    """

    signed_in: bool
    control_plane: str
    by_link: bool
    user: str = ""
    csrf: str = ""
    actions_allowed: bool = False
    actions: dict[str, str] = {}
    missing: tuple[str, ...] = ()


class SigningIn:
    def __init__(self, context: DashboardContext) -> None:
        self._context = context
        self._few = asyncio.Semaphore(SIGN_INS_AT_ONCE)

    def routes(self) -> list[web.RouteDef]:
        path = "/api/session"
        ending = self._context.signed_in(self._sign_out)
        return [
            web.get(path, self._look),
            web.post(path, self._sign_in),
            web.delete(path, ending),
            web.get("/open", self._open),
        ]

    async def _look(self, request: web.Request) -> web.StreamResponse:
        session = self._context.session_of(request)
        if session is None:
            return answered(self._nobody())
        try:
            await self._context.look_at_rights(session)
            return answered(await self._view(session))
        except Unauthorized:
            await self._context.sessions.end(session)
            return answered(self._nobody())

    async def _sign_in(self, request: web.Request) -> web.StreamResponse:
        """Raises: WorldError."""
        try:
            given = codec.decode(await request.read(), _SignIn)
        except codec.DecodeError as error:
            return failed(400, f'the body is not {{"token": ...}}: {error}')
        if given.key:
            if not self._is_key(given.key):
                return failed(401, NOT_OURS)
            return self._with_cookie(answered(await self._view(session := await self._own())), session)
        if problem := problem_of_token(given.token):
            return failed(400, problem)
        if self._few.locked():
            return failed(429, "too many are signing in: try again in a moment")
        async with self._few:
            found = await self._of_token(given.token)
        if found is None:
            return failed(401, "the control plane does not know this token")
        return self._with_cookie(answered(await self._view(found)), found)

    async def _open(self, request: web.Request) -> web.StreamResponse:
        """The link: signs in, and goes on to the page without the key in its address. A refusal is read by a person."""
        if not self._is_key(request.query.get("key", "")):
            return web.Response(status=401, text=NOT_OURS)
        try:
            session = await self._own()
        except WorldError as error:
            return web.Response(status=502, text=f"{NOT_ANSWERED}: {error}")
        return self._with_cookie(web.Response(status=303, headers={"Location": "/"}), session)

    async def _sign_out(self, _: web.Request, session: Session) -> web.StreamResponse:
        await self._context.sessions.end(session)
        answer = answered(self._nobody())
        answer.del_cookie(self._context.config.cookie, path="/")
        return answer

    def _is_key(self, given: str) -> bool:
        key = self._context.config.key
        return bool(key) and hmac.compare_digest(key.encode(), given.encode())

    async def _own(self) -> Session:
        """Raises: WorldError."""
        context = self._context
        user = await self._name(context.client) or ADMINISTRATOR
        return await context.sessions.begin(user, context.client, is_own=True)

    async def _of_token(self, token: str) -> Session | None:
        """None for a token that nobody has. Raises: WorldError."""
        client = Client(transport_of(with_token(self._context.config.connection, token)), "leeward-dashboard")
        try:
            user = await self._name(client) or await self._name_by_review(token)
        except Unauthorized:
            await client.close()
            return None
        except BaseException:
            await client.close()
            raise
        return await self._context.sessions.begin(user or UNNAMED, client, is_own=False)

    async def _name(self, client: Client) -> str:
        """Name of the user; of a control plane that does not tell names (before Kubernetes 1.28) nothing, after it has
        let us in. Such a one refuses the question before it finds that there is no such kind."""
        try:
            return await name_of_user(client)
        except (Forbidden, NotFound):
            await may(client, next(iter(ACTION_RIGHTS.values())))
            return ""

    async def _name_by_review(self, token: str) -> str:
        """Name of a token's user, of a control plane that does not tell it to the user; empty where the dashboard's own
        identity may not ask either."""
        try:
            return await name_of_token(self._context.client, token)
        except WorldError:
            return ""

    async def _view(self, session: Session) -> SessionView:
        """Raises: WorldError."""
        config = self._context.config
        await self._context.look_at_rights(session)
        return SessionView(
            signed_in=True,
            control_plane=config.name,
            by_link=bool(config.key),
            user=session.user,
            csrf=session.csrf,
            actions_allowed=config.allow_actions,
            actions=await self._actions(session),
            missing=session.sight.missing,
        )

    async def _actions(self, session: Session) -> dict[str, str]:
        if not self._context.config.allow_actions:
            why = "the dashboard was started without --allow-actions"
            return dict.fromkeys(ACTION_RIGHTS, why)
        allowed = {name: await may(session.client, right) for name, right in ACTION_RIGHTS.items()}
        return {name: "" if allowed[name] else f"{session.user} may not {ACTION_RIGHTS[name]}" for name in allowed}

    def _nobody(self) -> SessionView:
        config = self._context.config
        return SessionView(False, config.name, bool(config.key))

    def _with_cookie(self, answer: web.Response, session: Session) -> web.Response:
        config = self._context.config
        answer.set_cookie(
            config.cookie,
            session.id,
            max_age=int(LONGEST_SECONDS),
            path="/",
            httponly=True,
            samesite="Strict",
            secure=config.is_secure,
        )
        return answer


def with_token(connection: Connection, token: str) -> Connection:
    """Connection to the same server with another identity; nothing of the former one is sent."""
    bare: dict[str, Any] = {"client_certificate": b"", "client_key": b"", "username": "", "password": ""}
    return replace(connection, token=token, token_file=None, exec_plugin=None, **bare)


def problem_of_token(token: str) -> str:
    """Reason for which it is no token; empty where it may be one."""
    if not token:
        return "the token is empty: `kubectl create token NAME` makes one of a service account"
    if len(token) > MAX_TOKEN_LETTERS:
        return f"the token has more than {MAX_TOKEN_LETTERS} letters"
    if not (token.isascii() and token.isprintable()) or " " in token:
        return "the token has letters that no token has: paste it without spaces and line ends"
    return ""
