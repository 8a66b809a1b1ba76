"""Answers requests for Namespaces with an empty list over TLS, and writes their credentials to a file."""

from serving import JsonHandler, core_with, serve

EMPTY = {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
ANSWERS = core_with("namespaces", "Namespace", False, "list")


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        if path.endswith("/namespaces"):
            self.see(self.headers.get("Authorization", "no credential"))
        self.say(ANSWERS.get(path, EMPTY))


serve(Handler)
