#!/usr/bin/env bash
# Question: a rule of Kubernetes in CEL is tried out in Node, with an object that was read from JSON; is its value that of the
#   API server?
# Versions: @bufbuild/cel 0.6.1, @marcbachmann/cel-js 8.0.0, cel-js 0.8.2 (npm).
# One would guess: yes; these rules use standard functions, and Kubernetes takes the whole numbers of JSON for integers.
# What is: to two libraries each number of JSON is a double, so that `object.replicas / 2` and `* 2` are errors, though
#   `== 3` is not. @bufbuild/cel returns an error in the place of the value, which `if` takes for true, and has a null field for
#   absent. cel-js has no integers: `7 / 2` is 3.5, and nothing overflows. It has no startsWith, and one part of `||` that
#   fails is an error there, though the other is true.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{}' > package.json
npm install --silent --no-audit --no-fund @bufbuild/cel@0.6.1 @marcbachmann/cel-js@8.0.0 cel-js@0.8.2

cat > rules.mjs <<'RULES'
import { createRequire } from "node:module";
const require = createRequire(process.cwd() + "/");
const load = (name) => import(require.resolve(name));
const [buf, marc, js] = await Promise.all(["@bufbuild/cel", "@marcbachmann/cel-js", "cel-js"].map(load));
const libraries = { "@bufbuild/cel": buf.run, "@marcbachmann/cel-js": marc.evaluate, "cel-js": js.evaluate };
const rules = [
  "object.replicas == 3",
  "object.replicas / 2",
  "object.replicas * 2 <= 6",
  "7 / 2",
  "9223372036854775807 + 1 > 0",
  "has(object.paused)",
  'object.missing == "x" || object.replicas == 3',
  'object.ports.exists(p, p.name == "web" || p.port == 443)',
  'object.image.startsWith("registry/")',
];
for (const rule of rules) {
  console.log(rule);
  for (const [library, run] of Object.entries(libraries)) {
    const object = JSON.parse('{"replicas": 3, "paused": null, "ports": [{"port": 443}], "image": "registry/web"}');
    let value;
    try {
      value = run(rule, { object });
      if (value instanceof Error) value = "an error, which is returned";
    } catch {
      value = "an error";
    }
    console.log(`  ${library}: ${value}`);
  }
}
RULES
node rules.mjs | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
object.replicas == 3
  @bufbuild/cel: true
  @marcbachmann/cel-js: true
  cel-js: true
object.replicas / 2
  @bufbuild/cel: an error, which is returned
  @marcbachmann/cel-js: an error
  cel-js: 1.5
object.replicas * 2 <= 6
  @bufbuild/cel: an error, which is returned
  @marcbachmann/cel-js: an error
  cel-js: true
7 / 2
  @bufbuild/cel: 3
  @marcbachmann/cel-js: 3
  cel-js: 3.5
9223372036854775807 + 1 > 0
  @bufbuild/cel: an error, which is returned
  @marcbachmann/cel-js: an error
  cel-js: true
has(object.paused)
  @bufbuild/cel: false
  @marcbachmann/cel-js: true
  cel-js: true
object.missing == "x" || object.replicas == 3
  @bufbuild/cel: true
  @marcbachmann/cel-js: true
  cel-js: an error
object.ports.exists(p, p.name == "web" || p.port == 443)
  @bufbuild/cel: true
  @marcbachmann/cel-js: true
  cel-js: an error
object.image.startsWith("registry/")
  @bufbuild/cel: true
  @marcbachmann/cel-js: true
  cel-js: an error
EXPECTED
