"""Requests that are answered and never stored: reviews, and requests for tokens."""

from dataclasses import dataclass

from kubeapi import codec
from kubeapi.loop import Clock
from kubeapi.meta import Manifest, format_time
from kubeapi.transport import Response
from kubeserver import errors
from kubeserver.admission import AdmissionReview
from kubeserver.auth.access import Access
from kubeserver.handlers.bodies import check_namespace, read_body
from kubeserver.handlers.call import Call
from kubeserver.kinds.kind import Kind
from kubeserver.registry.admitting import Admitter
from kubeserver.registry.options import write_options

TOKEN_REQUEST = Kind("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests")
"""Kind of what is sent to a service account for a token."""


@dataclass(frozen=True, slots=True)
class ReviewVerbs:
    """Verbs of reviews; both raise: Refused."""

    admission: Admitter
    clock: Clock
    access: Access

    async def review(self, call: Call) -> Response:
        target = call.target
        options = write_options(call.query, "CreateOptions")
        sent = read_body(call, options.field_validation)
        check_namespace(target, sent)
        if call.kind.namespaced:
            sent["metadata"]["namespace"] = target.namespace
        manifest = await self._admitted(call, sent, options.dry_run)
        answer = self._answered(call, manifest)
        return call.presenter.respond(codec.encode(answer), 201)

    async def issue_token(self, call: Call) -> Response:
        if call.request.method != "POST":
            raise errors.method_not_allowed()
        options = write_options(call.query, "CreateOptions")
        sent = read_body(call, options.field_validation, TOKEN_REQUEST)
        check_namespace(call.target, sent)
        manifest = await self._admitted(call, sent, options.dry_run)
        issued = self.access.issue_token(call.target.namespace, call.target.name, manifest, options.dry_run)
        return call.presenter.respond(codec.encode(issued), 201)

    def _answered(self, call: Call, manifest: Manifest) -> Manifest:
        """The review with its status."""
        kind = call.kind
        if kind.kind == "SelfSubjectReview":
            born = format_time(self.clock.now())
            about: Manifest = {"metadata": {"creationTimestamp": born}, "status": {"userInfo": call.user.info()}}
        else:
            about = {**manifest, "status": self.access.review(kind.kind, manifest, call.user)}
        if kind.kind == "SelfSubjectRulesReview":
            about |= {"metadata": {}, "spec": {}}
        return {"kind": kind.kind, "apiVersion": kind.api_version, **about}

    async def _admitted(self, call: Call, manifest: Manifest, dry_run: bool) -> Manifest:
        """Manifest of what is asked for and not stored, as webhooks let it pass."""
        target = call.target
        asked = AdmissionReview(
            "CREATE", call.kind, target.namespace, manifest, None, call.user, dry_run, target.subresource, target.name
        )
        return await self.admission.ask(asked)
