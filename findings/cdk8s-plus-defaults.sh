#!/usr/bin/env bash
# Question: an autoscaler and a CronJob of cdk8s-plus are given no behaviour and no deadline; do they do as Kubernetes'
#   defaults?
# Versions: cdk8s-plus-33 2.5.57 with cdk8s 2.70.106 and constructs 10.4.2 (npm).
# One would guess: yes, since their fields are left out, or are written with the values that Kubernetes has for them.
# What is: the HorizontalPodAutoscaler takes one Pod away in five minutes, where Kubernetes takes all that are too many:
#   from 100 to 10 in more than seven hours. The CronJob has 10 seconds to begin, where Kubernetes has no such bound: when
#   its controller is busy or has a new leader for longer than that, a nightly run is left out.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{}' > package.json
npm install --silent --no-audit --no-fund cdk8s@2.70.106 cdk8s-plus-33@2.5.57 constructs@10.4.2
cat > made.cjs <<'MADE'
const { App, Chart, Cron } = require("cdk8s");
const plus = require("cdk8s-plus-33");
const chart = new Chart(new App(), "chart");
const containers = [{ image: "web:1", resources: { cpu: { request: plus.Cpu.millis(100) } } }];
const target = new plus.Deployment(chart, "web", { containers });
new plus.HorizontalPodAutoscaler(chart, "scaler", { target, maxReplicas: 100 });
new plus.CronJob(chart, "nightly", { schedule: Cron.daily(), containers });
const [, scaler, nightly] = chart.toJson();
const { scaleDown, scaleUp } = scaler.spec.behavior;
console.log("scales down:", JSON.stringify(scaleDown.policies), "after", scaleDown.stabilizationWindowSeconds, "s");
console.log("scales up:", JSON.stringify(scaleUp.policies), "after", scaleUp.stabilizationWindowSeconds, "s");
console.log("schedule:", nightly.spec.schedule, "with a startingDeadlineSeconds of", nightly.spec.startingDeadlineSeconds);
MADE
node made.cjs | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
scales down: [{"periodSeconds":300,"type":"Pods","value":1}] after 300 s
scales up: [{"periodSeconds":60,"type":"Pods","value":4},{"periodSeconds":60,"type":"Percent","value":200}] after 0 s
schedule: 0 0 * * * with a startingDeadlineSeconds of 10
EXPECTED
