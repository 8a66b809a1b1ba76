"""Compares what a server answers with what was recorded: placeholders, headers, bodies, frames of a watch.

See README.md for the format. Standard library only.
"""
import copy
import json
import re

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


class Binder:
    """What each placeholder of a scenario stands for on the live server."""

    def __init__(self):
        self.value = {}   # "<uid:1>" -> live value
        self.owner = {}   # (kind, live value) -> "<uid:1>"

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
GO_TEXT = re.compile(r"strconv\.|cannot unmarshal|json parse error|unexpected end of JSON|invalid character|yaml: |error decoding|Go value|parsing time")
LOOSE = False
# where a program in Go finds its own source: `go build -trimpath` puts the module before it, as it was recorded
GO_SOURCE = re.compile(r'"(?:[^" ]*/)?(pkg/[a-z/]+\.go:[0-9]+)\\?"')


def match_string(want, have, where, binder, diffs):
    if LOOSE and where.endswith("message") and GO_TEXT.search(want):
        return
    want, have = GO_SOURCE.sub(r'"\1"', want), GO_SOURCE.sub(r'"\1"', have)
    tokens = list(PLACEHOLDER.finditer(want))
    if not tokens:
        if want != have:
            diffs.append("%s: want %s, have %s" % (where, short(want), short(have)))
        return
    pattern, at = "", 0
    for token in tokens:
        pattern += re.escape(want[at:token.start()]) + "(" + KINDS[token.group(1)] + ")"
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


IDENTITY = (("group", "version", "kind"), ("group", "kind"), ("groupVersion",), ("name",), ("subresource",), ("resource",), ("version",), ("type",))


def pick(want, have):
    """The element of list `have` that is meant by `want` (subset mode)."""
    if isinstance(want, dict):
        meta = want.get("metadata")
        if isinstance(meta, dict) and "name" in meta:
            for item in have:
                if isinstance(item, dict) and isinstance(item.get("metadata"), dict) and item["metadata"].get("name") == meta["name"]:
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
            diffs.append("%s: want %d elements, have %d: want %s, have %s" % (where, len(want), len(have), short(want), short(have)))
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


def order_managers(thing):
    """Sort managedFields as they are within one second, in which every recording was made: by name, not by time."""
    if isinstance(thing, dict):
        meta = thing.get("metadata")
        entries = meta.get("managedFields") if isinstance(meta, dict) else None
        if isinstance(entries, list) and len({entry.get("time") for entry in entries}) > 1:
            entries.sort(key=lambda e: [e.get(field) or "" for field in ("operation", "manager", "apiVersion", "subresource")])
    for value in thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list) else ():
        order_managers(value)
    return thing


def mask_ages(body):
    """Cells of a Table's column Age, in whatever letters it is written, change with the clock."""
    tables = [body]
    if isinstance(body, dict) and body.get("type") in ("ADDED", "MODIFIED", "DELETED"):
        tables = [body.get("object")]
    for table in tables:
        if isinstance(table, dict) and table.get("kind") == "Table":
            at = [i for i, c in enumerate(table.get("columnDefinitions") or []) if c.get("name", "").lower() == "age"]
            for row in table.get("rows") or []:
                for i in at:
                    if i < len(row.get("cells") or []):
                        row["cells"][i] = "<age>"
    return body


def clean(live, managed):
    body = live.get("body")
    if body is not None:
        if managed:
            order_managers(body)
        else:
            strip_managed(body)
        mask_ages(body)
    return live


def sort_causes(body):
    """The real server reports the schema errors of a custom resource in random order."""
    body = copy.deepcopy(body)
    if isinstance(body, dict) and body.get("kind") == "Status":
        body["message"] = sorted(re.sub(r"[\[\]]", "", body.get("message", "").replace("is invalid: ", "is invalid:, ")).split(", "))
        details = body.get("details") or {}
        details["causes"] = sorted(details.get("causes") or [], key=lambda c: json.dumps(c, sort_keys=True))
    return body


def compare(step, live, binder, managed):
    """The differences between a recorded response and a live one."""
    want, check, diffs = step["response"], step.get("check") or {}, []
    if want["status"] != live["status"]:
        message = (live.get("body") or {}).get("message") if isinstance(live.get("body"), dict) else live.get("text", "")
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
    if "body" in want:
        want = dict(want, body=mask_ages(copy.deepcopy(want["body"])))
    if check.get("causes") == "unordered":
        want, live = dict(want, body=sort_causes(want.get("body"))), dict(live, body=sort_causes(live.get("body")))
    if "body" in want:
        if "body" in live:
            match(want["body"], live["body"], "body", binder, diffs, check.get("body") == "subset", check.get("unordered", False))
        else:
            diffs.append("body: want JSON, have %s" % short(live.get("text")))
    elif "text" in want:
        have = live["text"] if "text" in live else json.dumps(live.get("body"))
        if check.get("body") == "subset" and want["text"].startswith("{"):   # JSON served as text/plain
            try:
                match(json.loads(want["text"]), json.loads(have), "text", binder, diffs, True)
            except ValueError:
                diffs.append("text: want JSON, have %s" % short(have))
            return diffs
        if check.get("body") == "lines":   # every recorded line must be there
            lines = have.splitlines()
            for line in want["text"].splitlines():
                if line not in lines:
                    diffs.append("text: line %s missing" % short(line))
        else:
            match_string(want["text"].strip(), have.strip(), "text", binder, diffs)
    return diffs


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


def strip_managed_frame(frame):
    return strip_managed(copy.deepcopy(frame))


def outline(frames):
    return "[" + " ".join("%s/%s" % (f.get("type"), ((f.get("object") or {}).get("metadata") or {}).get("name", "")) for f in frames) + "]"


def check_order(scenario, binder):
    """rvOrder lists the scenario's resourceVersions from old to new."""
    have = [(t, binder.value[t]) for t in scenario.get("rvOrder", []) if t in binder.value]
    out = []
    for (a, x), (b, y) in zip(have, have[1:]):
        if not int(x) < int(y):
            out.append("rvOrder: %s (%s) should be lower than %s (%s)" % (a, x, b, y))
    return out


def request_bytes(request):
    if "body" in request:
        return json.dumps(request["body"], ensure_ascii=False).encode()
    if "bodyText" in request:
        return request["bodyText"].encode()
    if "bodyRepeat" in request:
        r = request["bodyRepeat"]
        return (r["prefix"] + r["unit"] * r["count"] + r["suffix"]).encode()
    return None
