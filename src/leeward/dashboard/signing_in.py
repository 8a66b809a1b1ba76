"""Signing in and out: with a bearer token of the control plane, or with the link that the dashboard was started with.

    GET     who is signed in, and what may be done
    POST    {"token": ...}, or {"key": ...} for the dashboard's own identity
    DELETE  ends the session

A token is tried before it opens a session: the control plane says whose it is. It stays in memory, and is never told.
Who signs in waits in the queue of their address; the queues take turns.
"""

from dataclasses import replace
from typing import Any

import msgspec
from aiohttp import web

from kubeapi import codec
from kubeapi.loop.seats import Crowded, Seats
from kubeclient import Client, Forbidden, NotFound, Unauthorized, WorldError
from kubeclient.connection import Connection, transport_of
from leeward.dashboard.context import DashboardContext, answered, failed
from leeward.dashboard.rights import ACTION_RIGHTS, may, name_of_token, name_of_user
from leeward.dashboard.sessions import Session

SIGN_INS_AT_ONCE, WAITING_OF_AN_ADDRESS = 4, 64
PATIENCE_SECONDS = 30.0
MAX_TOKEN_LETTERS = 16 * 1024
ADMINISTRATOR = "kubeconfig"
"""Name of the dashboard's own identity where the control plane does not tell."""
NOT_OURS = "this link is used, or not of this dashboard: each is good once, and the dashboard has printed the next"
UNNAMED = "a user"
"""Name of all others there: they have the bounds of one user together."""


class _SignIn(msgspec.Struct, frozen=True):
    token: str = ""
    key: str = ""


class SessionView(msgspec.Struct, frozen=True, rename="camel"):
    """`by_link`: there is a way in by the link that `leeward dashboard` has printed.

    `actions` are what the user may do, by name: empty text where they may, else why not. `session` is told once, to who
    signs in.
    """

    signed_in: bool
    control_plane: str
    by_link: bool
    user: str = ""
    session: str = ""
    actions_allowed: bool = False
    actions: dict[str, str] = {}
    missing: tuple[str, ...] = ()


class SigningIn:
    def __init__(self, context: DashboardContext) -> None:
        self._context = context
        self._seats = Seats(SIGN_INS_AT_ONCE, WAITING_OF_AN_ADDRESS, PATIENCE_SECONDS)

    def routes(self) -> list[web.RouteDef]:
        path = "/api/session"
        ending = self._context.signed_in(self._sign_out)
        return [web.get(path, self._look), web.post(path, self._sign_in), web.delete(path, ending)]

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
        if not given.key and (problem := problem_of_token(given.token)):
            return failed(400, problem)
        try:
            await self._seats.take(request.remote or "")
        except Crowded:
            return failed(429, "too many are signing in from this address: try again in a moment")
        try:
            found = await (self._own(given.key) if given.key else self._of_token(given.token))
        finally:
            self._seats.give_back()
        if found is None:
            return failed(401, NOT_OURS if given.key else "the control plane does not know this token")
        return answered(await self._first_view(found))

    async def _sign_out(self, _: web.Request, session: Session) -> web.StreamResponse:
        await self._context.sessions.end(session)
        return answered(self._nobody())

    async def _own(self, given: str) -> Session | None:
        """None for a key that is not the link's, or is not any more. Raises: WorldError, and the key stays good."""
        context, key = self._context, self._context.config.key
        if key is None or not key.fits(given):
            return None
        user = await self._name(context.client) or ADMINISTRATOR
        return await context.sessions.begin(user, context.client, is_own=True) if key.spend(given) else None

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

    async def _first_view(self, session: Session) -> SessionView:
        """View with the id of the session, which is told once; without rights where these cannot be looked at yet."""
        try:
            view = await self._view(session)
        except WorldError:
            view = msgspec.structs.replace(self._nobody(), signed_in=True, user=session.user)
        return msgspec.structs.replace(view, session=session.id)

    async def _view(self, session: Session) -> SessionView:
        """Raises: WorldError."""
        config = self._context.config
        await self._context.look_at_rights(session)
        return SessionView(
            signed_in=True,
            control_plane=config.name,
            by_link=config.key is not None,
            user=session.user,
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
        return SessionView(False, config.name, config.key is not None)


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
