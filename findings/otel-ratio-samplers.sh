#!/usr/bin/env bash
# Question: two services keep half of all traces by `traceidratio` (TraceIdRatioBased); do they keep the same traces?
# Versions: opentelemetry-sdk 1.45.2 (PyPI), @opentelemetry/sdk-trace-base 2.12.1 (npm).
# One would guess: yes; the sampler decides by the trace id alone, so that all services decide alike.
# What is: no more than by chance. Python looks at the last 8 bytes of the id, Node joins all 16 by exclusive or. Of 1,000
#   ids they judge 501 differently; by a ratio of a tenth they share 10 of some hundred. So most traces that are kept are
#   kept in part. `parentbased_traceidratio` asks the first service alone.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-sdk==1.45.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/sdk-trace-base@2.12.1 @opentelemetry/api@1.9.1

cat > sample.py <<'SAMPLE'
import json
import random

from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

draw = random.Random(1)
ids = [f"{draw.getrandbits(128):032x}" for _ in range(1000)]
for ratio in (0.5, 0.1):
    sampler = TraceIdRatioBased(ratio)
    kept = [one for one in ids if sampler.should_sample(None, int(one, 16), "span").decision.is_sampled()]
    print(json.dumps({"ratio": ratio, "ids": ids, "kept": kept}))
SAMPLE
cat > sample.js <<'SAMPLE'
const { TraceIdRatioBasedSampler, SamplingDecision } = require("@opentelemetry/sdk-trace-base");
for (const line of require("fs").readFileSync(0, "utf8").trim().split("\n")) {
  const { ratio, ids, kept } = JSON.parse(line);
  const sampler = new TraceIdRatioBasedSampler(ratio);
  const mine = ids.filter((id) => sampler.shouldSample({}, id).decision === SamplingDecision.RECORD_AND_SAMPLED);
  const both = mine.filter((id) => kept.includes(id)).length;
  console.log(`ratio ${ratio}, of ${ids.length} traces: Python keeps ${kept.length}, Node ${mine.length}, both ${both}`);
}
SAMPLE
env/bin/python sample.py | node sample.js | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
ratio 0.5, of 1000 traces: Python keeps 492, Node 495, both 243
ratio 0.1, of 1000 traces: Python keeps 91, Node 101, both 10
EXPECTED
