#!/usr/bin/env bash
# Question: is a CloudEvent that one SDK sends over HTTP, in binary mode, the same event to the other SDK?
# Versions: cloudevents 2.2.0 (PyPI), cloudevents 10.0.0 (npm).
# One would guess: yes; CloudEvents says which letters of a header are escaped, and that JSON is the default type of data.
# What is: Python escapes a space, a quote and `Zürich` in a header, as CloudEvents says; Node neither escapes nor reads
#   escapes. So `a b` becomes `a%20b` to Node, and a `%20` of a subject from Node is a space to Python. Data are a text to Node
#   when Python names no type, or one such as `application/vnd.team+json`. In structured mode nothing differs.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq cloudevents==2.2.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund cloudevents@10.0.0
cat > events.json <<'EVENTS'
[
  {"subject": "member1/default/web"},
  {"subject": "failover of web"},
  {"subject": "Zürich"},
  {"subject": "path%20of%20a%20URL"},
  {"data": {"replicas": 3}, "datacontenttype": "application/json"},
  {"data": {"replicas": 3}, "datacontenttype": "application/vnd.team+json"},
  {"data": {"replicas": 3}}
]
EVENTS

cat > events.py <<'CODE'
import json
import sys

from cloudevents.core.bindings.http import HTTPMessage, from_http_event, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

mode, verb = sys.argv[1:]
written = {"binary": to_binary_event, "structured": to_structured_event}[mode]


def tell(event: object, told: dict[str, object]) -> str:
    subject = event.get_subject()
    return json.dumps(subject if "subject" in told else event.get_data(), ensure_ascii=False)


with open("events.json") as file:
    events = json.load(file)
if verb == "write":
    for each in events:
        data = each.pop("data", None)
        attributes = {"id": "1", "source": "/hub", "type": "dev.test", "specversion": "1.0", **each}
        message = written(CloudEvent(attributes=attributes, data=data))
        print(json.dumps({"headers": message.headers, "body": message.body.decode()}))
else:
    for each, line in zip(events, sys.stdin, strict=True):
        message = json.loads(line)
        event = from_http_event(HTTPMessage(message["headers"], message["body"].encode()))
        print(f"{mode}, Node to Python: {tell(event, each)}")
CODE
cat > events.mjs <<'CODE'
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const { CloudEvent, HTTP } = createRequire(process.cwd() + "/")("cloudevents");
const [mode, verb] = process.argv.slice(2);
const events = JSON.parse(readFileSync("events.json", "utf8"));
if (verb === "write")
  for (const each of events) {
    const { headers, body } = HTTP[mode](new CloudEvent({ id: "1", source: "/hub", type: "dev.test", ...each }));
    console.log(JSON.stringify({ headers, body: body ?? "" }));
  }
else
  readFileSync(0, "utf8").trim().split("\n").forEach((line, at) => {
    const event = HTTP.toEvent(JSON.parse(line));
    console.log(`${mode}, Python to Node: ${JSON.stringify("subject" in events[at] ? event.subject : event.data)}`);
  });
CODE
for mode in binary structured; do
  env/bin/python events.py $mode write | node events.mjs $mode read
  node events.mjs $mode write | env/bin/python events.py $mode read
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
binary, Python to Node: "member1/default/web"
binary, Python to Node: "failover%20of%20web"
binary, Python to Node: "Z%C3%BCrich"
binary, Python to Node: "path%2520of%2520a%2520URL"
binary, Python to Node: {"replicas":3}
binary, Python to Node: "{\"replicas\": 3}"
binary, Python to Node: "{\"replicas\": 3}"
binary, Node to Python: "member1/default/web"
binary, Node to Python: "failover of web"
binary, Node to Python: "Zürich"
binary, Node to Python: "path of a URL"
binary, Node to Python: {"replicas": 3}
binary, Node to Python: {"replicas": 3}
binary, Node to Python: {"replicas": 3}
structured, Python to Node: "member1/default/web"
structured, Python to Node: "failover of web"
structured, Python to Node: "Zürich"
structured, Python to Node: "path%20of%20a%20URL"
structured, Python to Node: {"replicas":3}
structured, Python to Node: {"replicas":3}
structured, Python to Node: {"replicas":3}
structured, Node to Python: "member1/default/web"
structured, Node to Python: "failover of web"
structured, Node to Python: "Zürich"
structured, Node to Python: "path%20of%20a%20URL"
structured, Node to Python: {"replicas": 3}
structured, Node to Python: {"replicas": 3}
structured, Node to Python: {"replicas": 3}
EXPECTED
