#!/usr/bin/env bash
# Question: which number do libraries read in a resource quantity?
# Versions: kubernetes 37.0.2, lightkube 1.0.1 (PyPI), @kubernetes/client-node 1.4.0, kubernetes-resource-parser 0.1.0,
#   k8s-resource-parser 0.2.2 (npm).
# One would guess: the number that API servers read. `156340n` is the use of a CPU in metrics.k8s.io, `1.5Gi` stands in
#   manifests and custom resources, `1E3` and `1e3` are 1000.
# What is: only the client for Python reads all of them. lightkube and k8s-resource-parser refuse the `n` of metrics,
#   client-node refuses `1.5Gi`, lightkube `1E3`. kubernetes-resource-parser says 1 byte for `1.5Gi` and for `1e3`, and
#   156340 cores for `156340n`, without an error.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq kubernetes==37.0.2 lightkube==1.0.1
echo '{}' > package.json
npm install --silent --no-audit --no-fund @kubernetes/client-node@1.4.0 kubernetes-resource-parser@0.1.0 \
  k8s-resource-parser@0.2.2

cat > read.py <<'READ'
import kubernetes.utils
import lightkube.utils.quantity

for value in ("1.5Gi", "156340n", "1e3", "1E3"):
    for library, read in (
        ("kubernetes", kubernetes.utils.parse_quantity), ("lightkube", lightkube.utils.quantity.parse_quantity)
    ):
        try:
            print(f"{library}: {value} is {float(read(value)):.6f}")
        except ValueError as error:
            print(f"{library}: {value} is refused, {error}")
READ
cat > read.mjs <<'READ'
import simple from "kubernetes-resource-parser";
import parser from "k8s-resource-parser";
import { quantityToScalar } from "./node_modules/@kubernetes/client-node/dist/util.js";
const libraries = {
  "client-node": [quantityToScalar, quantityToScalar],
  "kubernetes-resource-parser": [simple.memoryParser, simple.cpuParser],
  "k8s-resource-parser": [parser.memoryParser, parser.cpuParser],
};
for (const value of ["1.5Gi", "156340n", "1e3", "1E3"])
  for (const [library, [memory, cpu]] of Object.entries(libraries))
    try {
      console.log(`${library}: ${value} is ${Number((value.endsWith("n") ? cpu : memory)(value)).toFixed(6)}`);
    } catch (error) {
      console.log(`${library}: ${value} is refused, ${error.message}`);
    }
READ
{ env/bin/python read.py && node read.mjs; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kubernetes: 1.5Gi is 1610612736.000000
lightkube: 1.5Gi is 1610612736.000000
kubernetes: 156340n is 0.000156
lightkube: 156340n is refused, Invalid unit suffix: n
kubernetes: 1e3 is 1000.000000
lightkube: 1e3 is 1000.000000
kubernetes: 1E3 is 1000.000000
lightkube: 1E3 is refused, Invalid unit suffix: E3
client-node: 1.5Gi is refused, Cannot convert 1.5 to a BigInt
kubernetes-resource-parser: 1.5Gi is 1.000000
k8s-resource-parser: 1.5Gi is 1610612736.000000
client-node: 156340n is 0.000156
kubernetes-resource-parser: 156340n is 156340.000000
k8s-resource-parser: 156340n is refused, Invalid quanity provided.
client-node: 1e3 is 1000.000000
kubernetes-resource-parser: 1e3 is 1.000000
k8s-resource-parser: 1e3 is 1000.000000
client-node: 1E3 is 1000.000000
kubernetes-resource-parser: 1E3 is 1.000000
k8s-resource-parser: 1E3 is 1000.000000
EXPECTED
