#!/usr/bin/env python3
"""Replay recorded API transcripts against a server and report where it differs.

    replay.py FILE... --server https://127.0.0.1:6443 --token T [--cacert CA]

FILE is JSON Lines, one scenario per line (see README.md for the format).
Exit status: 0 when every scenario passed, 1 otherwise. Standard library only.
"""

import argparse
import copy
import fnmatch
import http.client
import json
import os
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse

HEADERS_KEPT = ("content-type", "warning", "retry-after")

# placeholder kind -> what a live value of that kind looks like
KINDS = {
    "uid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "rv": r"[0-9]+",
    "listrv": r"[0-9]+",
    "time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
    "microtime": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z",
    "rand": r"[a-z0-9]{5}",
    "jwt": r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+",
    "continue": r"\S+",
    "ip": r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}",
    "port": r"[0-9]+",
    "age": r".*",
    "hash": r"[0-9A-Fa-f]+",
    "server": r"\S*",
    "any": r"(?s:.*)",
}
PLACEHOLDER = re.compile(r"<(%s)(?::([0-9]+))?>" % "|".join(KINDS))


# ---------------------------------------------------------------- transport


class Server:
    """A minimal HTTP client: one connection for each request."""

    def __init__(self, url, token="", cacert=None, timeout=30.0):
        parts = urllib.parse.urlsplit(url)
        self.tls = parts.scheme == "https"
        self.host = parts.hostname
        self.port = parts.port or (443 if self.tls else 80)
        self.token = token
        self.timeout = timeout
        self.context = None
        if self.tls:
            self.context = ssl.create_default_context(cafile=cacert)
            if cacert is None:
                self.context.check_hostname = False
                self.context.verify_mode = ssl.CERT_NONE

    def connect(self, timeout=None):
        timeout = timeout or self.timeout
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.context)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def open(self, request, timeout=None):
        """Send one recorded request (already resolved); return (connection, response)."""
        path = request["path"]
        query = request.get("query") or {}
        if query:
            path += "?" + urllib.parse.urlencode(query)
        headers = {"Accept": "application/json", "User-Agent": "contract/1.0"}
        headers.update({k.title(): v for k, v in (request.get("headers") or {}).items()})
        auth = request.get("auth", "admin")
        if auth == "admin":
            if self.token:
                headers["Authorization"] = "Bearer " + self.token
        elif auth != "none":
            headers["Authorization"] = "Bearer " + auth
        body = request_bytes(request)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = self.connect(timeout)
        try:
            connection.request(request["method"], path, body=body, headers=headers)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server may answer before it has read a large body
        return connection, connection.getresponse()

    def send(self, request):
        """Return {"status", "headers", "body"|"text"}."""
        for attempt in range(4):
            connection, response = self.open(request)
            try:
                data = response.read()
            finally:
                connection.close()
            if response.status == 429 and attempt < 3 and request.get("auth") is None:
                time.sleep(float(response.getheader("Retry-After") or 1))
                continue
            return parse_response(response, data)


def request_bytes(request):
    if "body" in request:
        return json.dumps(request["body"], ensure_ascii=False).encode()
    if "bodyText" in request:
        return request["bodyText"].encode()
    if "bodyRepeat" in request:
        r = request["bodyRepeat"]
        return (r["prefix"] + r["unit"] * r["count"] + r["suffix"]).encode()
    return None


def parse_response(response, data):
    headers = {}
    for name in HEADERS_KEPT:
        values = response.headers.get_all(name)
        if values:
            headers[name] = values[0] if name != "warning" else values
    out = {"status": response.status, "headers": headers}
    text = data.decode("utf-8", "replace")
    if "json" in headers.get("content-type", ""):
        try:
            out["body"] = json.loads(text)
            return out
        except ValueError:
            pass
    out["text"] = text
    return out


class Watch(threading.Thread):
    """Open a watch and collect its frames in the background."""

    def __init__(self, server, request, keep):
        super().__init__(daemon=True)
        self.frames = []
        self.error = None
        self.keep = keep
        self.changed = threading.Condition()
        self.ended = False
        self.connection, self.response = server.open(request, timeout=60)
        self.sock = self.connection.sock or getattr(getattr(self.response.fp, "raw", None), "_sock", None)
        self.status = self.response.status
        self.plain = None
        if self.status != 200:
            self.plain = parse_response(self.response, self.response.read())
            self.ended = True
            self.connection.close()
        else:
            self.headers = {k: self.response.getheader(k) for k in ("content-type",) if self.response.getheader(k)}
            self.start()

    def run(self):
        try:
            while True:
                line = self.response.readline()
                if not line:
                    break
                if not line.strip():
                    continue
                frame = json.loads(line)
                if self.keep(frame):
                    with self.changed:
                        self.frames.append(frame)
                        self.changed.notify_all()
        except (OSError, ValueError, http.client.HTTPException, AttributeError) as error:
            self.error = error
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def collect(self, count, seconds, extra=0.3):
        """Wait for `count` frames (None: for the end) at most `seconds`; then `extra` for surplus frames."""
        end = time.monotonic() + seconds
        with self.changed:
            while not self.ended and (count is None or len(self.frames) < count):
                left = end - time.monotonic()
                if left <= 0:
                    break
                self.changed.wait(left)
        if count is not None and not self.ended:
            time.sleep(extra)
        with self.changed:
            frames, ended = list(self.frames), self.ended
        if not ended:
            try:
                if self.sock is not None:
                    self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        return frames, ended


def keep_frame(bookmarks):
    """Which frames count. "none": no bookmark; "initial": only the one that ends the initial events."""

    def keep(frame):
        if frame.get("type") != "BOOKMARK" or bookmarks == "all":
            return True
        if bookmarks == "initial":
            annotations = frame.get("object", {}).get("metadata", {}).get("annotations") or {}
            return "k8s.io/initial-events-end" in annotations
        return False

    return keep


# ---------------------------------------------------------------- comparing


class Binder:
    """What each placeholder of a scenario stands for on the live server."""

    def __init__(self):
        self.value = {}  # "<uid:1>" -> live value
        self.owner = {}  # (kind, live value) -> "<uid:1>"

    def copy(self):
        other = Binder()
        other.value, other.owner = dict(self.value), dict(self.owner)
        return other

    def take(self, other):
        self.value, self.owner = other.value, other.owner

    def bind(self, kind, number, live):
        """None when consistent, else a sentence."""
        if number is None:
            return None
        token = "<%s:%s>" % (kind, number)
        if token in self.value:
            if self.value[token] != live:
                return "%s was %s before, is %s now" % (token, self.value[token], live)
            return None
        owner = self.owner.get((kind, live))
        if owner is not None and kind not in ("rand", "listrv"):
            return "%s should be new, but is %s (%s)" % (token, owner, live)
        self.value[token] = live
        self.owner[(kind, live)] = token
        return None

    def resolve(self, thing):
        """Recorded request -> live request."""
        if isinstance(thing, str):
            return PLACEHOLDER.sub(lambda m: self.value.get(m.group(0), m.group(0)), thing)
        if isinstance(thing, list):
            return [self.resolve(x) for x in thing]
        if isinstance(thing, dict):
            return {self.resolve(k): self.resolve(v) for k, v in thing.items()}
        return thing


# texts that come out of Go's own parsers; --loose does not compare them
GO_TEXT = re.compile(
    r"strconv\.|cannot unmarshal|json parse error|unexpected end of JSON|invalid character|yaml: |error decoding|Go value|parsing time"
)
LOOSE = False


def match_string(want, have, where, binder, diffs):
    if LOOSE and where.endswith("message") and GO_TEXT.search(want):
        return
    tokens = list(PLACEHOLDER.finditer(want))
    if not tokens:
        if want != have:
            diffs.append("%s: want %s, have %s" % (where, short(want), short(have)))
        return
    pattern, at = "", 0
    for token in tokens:
        pattern += re.escape(want[at : token.start()]) + "(" + KINDS[token.group(1)] + ")"
        at = token.end()
    pattern += re.escape(want[at:])
    found = re.fullmatch(pattern, have)
    if not found:
        diffs.append("%s: want %s, have %s" % (where, short(want), short(have)))
        return
    for token, live in zip(tokens, found.groups()):
        problem = binder.bind(token.group(1), token.group(2), live)
        if problem:
            diffs.append("%s: %s" % (where, problem))


IDENTITY = (
    ("group", "version", "kind"),
    ("group", "kind"),
    ("groupVersion",),
    ("name",),
    ("subresource",),
    ("resource",),
    ("version",),
    ("type",),
)


def pick(want, have):
    """The element of list `have` that is meant by `want` (subset mode)."""
    if isinstance(want, dict):
        meta = want.get("metadata")
        if isinstance(meta, dict) and "name" in meta:
            for item in have:
                if (
                    isinstance(item, dict)
                    and isinstance(item.get("metadata"), dict)
                    and item["metadata"].get("name") == meta["name"]
                ):
                    return item
            return None
        for keys in IDENTITY:
            if all(isinstance(want.get(k), str) for k in keys):
                for item in have:
                    if isinstance(item, dict) and all(item.get(k) == want[k] for k in keys):
                        return item
                return None
        return have[0] if have else None
    return want if want in have else None


def match(want, have, where, binder, diffs, subset=False, unordered=False):
    """Append to `diffs` every place where `have` is not what `want` describes."""
    if isinstance(want, str):
        if isinstance(have, str):
            match_string(want, have, where, binder, diffs)
        elif PLACEHOLDER.fullmatch(want) and isinstance(have, int) and not isinstance(have, bool):
            match_string(want, str(have), where, binder, diffs)
        elif want not in ("<any>", "<age>"):
            diffs.append("%s: want %s, have %s" % (where, short(want), short(have)))
    elif isinstance(want, dict):
        if not isinstance(have, dict):
            diffs.append("%s: want an object, have %s" % (where, short(have)))
            return
        for key in sorted(want):
            if key not in have:
                diffs.append("%s.%s: missing, want %s" % (where, key, short(want[key])))
            else:
                match(want[key], have[key], "%s.%s" % (where, key), binder, diffs, subset, unordered)
        if not subset:
            for key in sorted(have):
                if key not in want:
                    diffs.append("%s.%s: surplus, have %s" % (where, key, short(have[key])))
    elif isinstance(want, list):
        if not isinstance(have, list):
            diffs.append("%s: want a list, have %s" % (where, short(have)))
            return
        if subset:
            for i, item in enumerate(want):
                other = pick(item, have)
                if other is None:
                    diffs.append("%s[%d]: missing, want %s" % (where, i, short(item)))
                else:
                    match(item, other, "%s[%d]" % (where, i), binder, diffs, subset)
            return
        if len(want) != len(have):
            diffs.append(
                "%s: want %d elements, have %d: want %s, have %s"
                % (where, len(want), len(have), short(want), short(have))
            )
            return
        if unordered:
            have = reorder(want, have, binder)
        for i, (a, b) in enumerate(zip(want, have)):
            match(a, b, "%s[%d]" % (where, i), binder, diffs, subset, unordered)
    elif isinstance(want, bool) or isinstance(have, bool) or want is None or have is None:
        if want is not have:
            diffs.append("%s: want %s, have %s" % (where, short(want), short(have)))
    elif want != have:
        diffs.append("%s: want %s, have %s" % (where, short(want), short(have)))


def reorder(want, have, binder):
    rest, out = list(have), []
    for item in want:
        for i, other in enumerate(rest):
            trial, diffs = binder.copy(), []
            match(item, other, "", trial, diffs, False, True)
            if not diffs:
                out.append(rest.pop(i))
                break
        else:
            return have
    return out


def short(value, limit=160):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[:limit] + "..."


def strip_managed(thing):
    """Drop metadata.managedFields everywhere."""
    if isinstance(thing, dict):
        meta = thing.get("metadata")
        if isinstance(meta, dict):
            meta.pop("managedFields", None)
        for value in thing.values():
            strip_managed(value)
    elif isinstance(thing, list):
        for value in thing:
            strip_managed(value)
    return thing


def mask_ages(body):
    """Cells of the Age column of a Table change with the clock."""
    tables = [body]
    if isinstance(body, dict) and body.get("type") in ("ADDED", "MODIFIED", "DELETED"):
        tables = [body.get("object")]
    for table in tables:
        if isinstance(table, dict) and table.get("kind") == "Table":
            at = [i for i, c in enumerate(table.get("columnDefinitions") or []) if c.get("name") == "Age"]
            for row in table.get("rows") or []:
                for i in at:
                    if i < len(row.get("cells") or []):
                        row["cells"][i] = "<age>"
    return body


def clean(live, managed):
    body = live.get("body")
    if body is not None:
        if not managed:
            strip_managed(body)
        mask_ages(body)
    return live


def sort_causes(body):
    """The real server reports the schema errors of a custom resource in random order."""
    body = copy.deepcopy(body)
    if isinstance(body, dict) and body.get("kind") == "Status":
        body["message"] = sorted(
            re.sub(r"[\[\]]", "", body.get("message", "").replace("is invalid: ", "is invalid:, ")).split(", ")
        )
        details = body.get("details") or {}
        details["causes"] = sorted(details.get("causes") or [], key=lambda c: json.dumps(c, sort_keys=True))
    return body


def compare(step, live, binder, managed):
    """The differences between a recorded response and a live one."""
    want, check, diffs = step["response"], step.get("check") or {}, []
    if want["status"] != live["status"]:
        message = (
            (live.get("body") or {}).get("message") if isinstance(live.get("body"), dict) else live.get("text", "")
        )
        diffs.append("status: want %s, have %s (%s)" % (want["status"], live["status"], short(message)))
        return diffs
    if check.get("body") == "none":
        return diffs
    for name in HEADERS_KEPT:
        a, b = want["headers"].get(name), live["headers"].get(name)
        if a is None and b is None or (name == "content-type" and check.get("body") == "subset" and "text" in want):
            continue
        if a is None or b is None:
            diffs.append("header %s: want %s, have %s" % (name, short(a), short(b)))
        elif name == "warning":
            match(a, b, "header warning", binder, diffs)
        else:
            match_string(a.replace(" ", "").lower(), b.replace(" ", "").lower(), "header " + name, binder, diffs)
    live = clean(copy.deepcopy(live), managed)
    if check.get("causes") == "unordered":
        want, live = dict(want, body=sort_causes(want.get("body"))), dict(live, body=sort_causes(live.get("body")))
    if "body" in want:
        if "body" in live:
            match(
                want["body"],
                live["body"],
                "body",
                binder,
                diffs,
                check.get("body") == "subset",
                check.get("unordered", False),
            )
        else:
            diffs.append("body: want JSON, have %s" % short(live.get("text")))
    elif "text" in want:
        have = live["text"] if "text" in live else json.dumps(live.get("body"))
        if check.get("body") == "subset" and want["text"].startswith("{"):  # JSON served as text/plain
            try:
                match(json.loads(want["text"]), json.loads(have), "text", binder, diffs, True)
            except ValueError:
                diffs.append("text: want JSON, have %s" % short(have))
            return diffs
        if check.get("body") == "lines":  # every recorded line must be there
            lines = have.splitlines()
            for line in want["text"].splitlines():
                if line not in lines:
                    diffs.append("text: line %s missing" % short(line))
        else:
            match_string(want["text"].strip(), have.strip(), "text", binder, diffs)
    return diffs


# ---------------------------------------------------------------- replaying


def play_watch(step, server, binder, managed, log):
    want = step["response"]
    how = step["watch"]
    diffs = []
    watch = Watch(server, binder.resolve(step["request"]), keep_frame(how.get("bookmarks", "none")))
    for i, inner in enumerate(step.get("during") or []):
        for d in play_step(inner, server, binder, managed, log):
            diffs.append("during[%d] %s" % (i, d))
    if watch.plain is not None or want["status"] != 200:
        live = watch.plain or {"status": watch.status, "headers": {}, "body": None}
        return diffs + compare(step, live, binder, managed)
    count = None if how.get("untilEnd") else how["frames"]
    frames, ended = watch.collect(count, how["seconds"])
    for name, value in want["headers"].items():
        if (watch.headers.get(name) or "").replace(" ", "") != value.replace(" ", ""):
            diffs.append("header %s: want %s, have %s" % (name, value, watch.headers.get(name)))
    if how.get("untilEnd") and not ended:
        diffs.append("watch did not end within %ss" % how["seconds"])
    frames = [mask_ages(f if managed else strip_managed_frame(f)) for f in frames]
    wanted = want["frames"]
    if len(wanted) != len(frames):
        diffs.append("frames: want %s, have %s" % (outline(wanted), outline(frames)))
        return diffs
    match(wanted, frames, "frames", binder, diffs, unordered=how.get("unordered", False))
    return diffs


def strip_managed_frame(frame):
    return strip_managed(copy.deepcopy(frame))


def outline(frames):
    return (
        "["
        + " ".join(
            "%s/%s" % (f.get("type"), ((f.get("object") or {}).get("metadata") or {}).get("name", "")) for f in frames
        )
        + "]"
    )


def play_step(step, server, binder, managed, log):
    if step.get("sleep"):
        time.sleep(step["sleep"])
    if "watch" in step:
        return play_watch(step, server, binder, managed, log)
    end = time.monotonic() + 10
    while True:
        live = server.send(binder.resolve(step["request"]))
        trial = binder.copy()
        diffs = compare(step, live, trial, managed)
        if not diffs or not step.get("eventually") or time.monotonic() > end:
            binder.take(trial)
            if log:
                log(step, live, diffs)
            return diffs
        time.sleep(0.1)


def check_order(scenario, binder):
    """rvOrder lists the scenario's resourceVersions from old to new."""
    have = [(t, binder.value[t]) for t in scenario.get("rvOrder", []) if t in binder.value]
    out = []
    for (a, x), (b, y) in zip(have, have[1:]):
        if not int(x) < int(y):
            out.append("rvOrder: %s (%s) should be lower than %s (%s)" % (a, x, b, y))
    return out


def play_scenario(scenario, server, log=None):
    """Return [(step index, [differences])] for the steps that differ."""
    binder, failed = Binder(), []
    managed = scenario.get("managedFields", False)
    for i, step in enumerate(scenario["steps"]):
        try:
            diffs = play_step(step, server, binder, managed, log)
        except (OSError, http.client.HTTPException) as error:
            diffs = ["transport: %r" % error]
        if diffs:
            failed.append((i, diffs))
    order = check_order(scenario, binder)
    if order:
        failed.append((len(scenario["steps"]), order))
    return failed


def load_fixtures(server, path):
    """Create the shared objects (CRDs) and wait until they are served."""
    problems = []
    with open(path, encoding="utf-8") as f:
        fixtures = json.load(f)
    for item in fixtures:
        reply = server.send({"method": "POST", "path": item["path"], "body": item["body"]})
        if reply["status"] not in (200, 201, 409):
            problems.append(
                "%s: %s %s"
                % (
                    item["body"]["metadata"]["name"],
                    reply["status"],
                    short(reply.get("body") or reply.get("text"), 400),
                )
            )
    for item in fixtures:
        end = time.monotonic() + 20
        while True:
            reply = server.send({"method": "GET", "path": item["ready"]})
            if reply["status"] == 200 or time.monotonic() > end:
                break
            time.sleep(0.1)
        if reply["status"] != 200:
            problems.append(
                "%s: not served at %s (%s)" % (item["body"]["metadata"]["name"], item["ready"], reply["status"])
            )
    return problems


def read_scenarios(paths):
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.strip():
                    yield json.loads(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--server", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--cacert", help="verify the server with this CA (default: do not verify)")
    parser.add_argument("--fixtures", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures.json"))
    parser.add_argument("--no-fixtures", action="store_true", help="the CRDs are there already")
    parser.add_argument("--only", action="append", help="scenario id (shell pattern); may be given again")
    parser.add_argument("--topic", action="append")
    parser.add_argument(
        "--also", action="append", default=[], help="play scenarios that require this too (compaction, watchlist)"
    )
    parser.add_argument("--loose", action="store_true", help="do not compare messages that quote Go's own parsers")
    parser.add_argument("--json", help="write the result here as JSON")
    parser.add_argument("--quiet", action="store_true", help="only the summary")
    parser.add_argument("--max-diffs", type=int, default=6, help="differences shown for each step")
    args = parser.parse_args()

    global LOOSE
    LOOSE = args.loose
    server = Server(args.server, args.token, args.cacert)
    if not args.no_fixtures:
        for problem in load_fixtures(server, args.fixtures):
            print("fixture", problem, file=sys.stderr)

    result, topics = {}, {}
    for scenario in read_scenarios(args.files):
        if args.only and not any(fnmatch.fnmatch(scenario["id"], p) for p in args.only):
            continue
        if args.topic and scenario["topic"] not in args.topic:
            continue
        if set(scenario.get("requires", [])) - set(args.also):
            continue
        failed = play_scenario(scenario, server)
        result[scenario["id"]] = {
            "topic": scenario["topic"],
            "ok": not failed,
            "steps": len(scenario["steps"]),
            "failed": failed,
        }
        tally = topics.setdefault(scenario["topic"], [0, 0])
        tally[0 if not failed else 1] += 1
        if not args.quiet:
            print("%s %-34s %s" % ("ok  " if not failed else "FAIL", scenario["id"], scenario["title"]))
            for i, diffs in failed:
                if i < len(scenario["steps"]):
                    r = scenario["steps"][i]["request"]
                    print("     step %d: %s %s %s" % (i, r["method"], r["path"], json.dumps(r.get("query") or {})))
                for d in diffs[: args.max_diffs]:
                    print("       " + d)
                if len(diffs) > args.max_diffs:
                    print("       ... and %d more" % (len(diffs) - args.max_diffs))
    print()
    for topic in sorted(topics):
        print("%-14s pass %3d  fail %3d" % (topic, *topics[topic]))
    good = sum(t[0] for t in topics.values())
    bad = sum(t[1] for t in topics.values())
    print("%-14s pass %3d  fail %3d" % ("all", good, bad))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)
    return 0 if not bad else 1


if __name__ == "__main__":
    sys.exit(main())
