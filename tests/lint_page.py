"""The page docs/lint.md, rendered from the table of rules and from a run; `python -m tests.lint_page` writes it."""

import io
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from leeward.cli.program import main
from leeward.lint.findings import FindingLevel
from leeward.lint.rule_table import RULES, LintRule

PAGE = Path(__file__).parents[1] / "docs/lint.md"
FILE = "shop.yaml"
MANIFESTS = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 1
  volumeClaimTemplates: [{metadata: {name: data}}]
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: shop, namespace: shop}
spec:
  resourceSelectors:
    - {apiVersion: apps/v1, kind: StatefulSet}
    - {apiVersion: apps/v1, kind: Deployment, name: web}
  placement:
    clusterAffinities:
      - {affinityName: home, clusterNames: [eu-1]}
      - {affinityName: spare, clusterNames: [us-1]}
    clusterTolerations:
      - {operator: Exists}
"""
HEAD = f"""# Lint

Why would a failover not fire, or not help? `leeward lint` says so before an outage does, and changes nothing. It
looks at manifests in files, directories and standard input (`-`). `--from FILE` of `leeward snapshot`, `--kubeconfig`
or `--data-dir` judge them as if they were applied to that control plane. Without files it looks at a control plane
itself.

    leeward lint deploy/                            manifests by themselves
    kustomize build . | leeward lint -              what a tool has rendered
    leeward lint deploy/ --from fleet.json          with the clusters and policies of a control plane
    leeward lint                                    a control plane

It exits with 0 without errors and warnings, with 1 when there are some, and with 2 when something could not be read.
`-o json`, `-o yaml` and `-o sarif` (SARIF 2.1.0) are for programs.

The functions that decide in production say which policy claims a template, which clusters a placement allows, and how
long a copy stays under taints. Without a control plane, a placement by names of clusters is judged on these, and one by
labels or fields is not judged. A snapshot has no contents of manifests, no override policies and no quotas. Rules which
need them are not asked, or see a part; the output names them.

The annotation `leeward.dev/lint-ignore: LW003,LW005` on the policy or the template ignores a finding, `--ignore LW003`
ignores it for one run.

    $ cat {FILE}
"""
LEVELS = {
    FindingLevel.ERROR: "a failover does not happen",
    FindingLevel.WARNING: "it does not help as much as was meant",
    FindingLevel.NOTE: "worth knowing",
}


def page() -> str:
    """Text that the page has to hold."""
    manifests = "".join(f"    {line}\n" for line in MANIFESTS.splitlines())
    levels = "; ".join(f"*{level.value}*: {meaning}" for level, meaning in LEVELS.items())
    parts = [HEAD, manifests, f"\n    $ leeward lint {FILE}\n", _run(), f"\n## Rules\n\n{levels}.\n"]
    return "".join([*parts, *(line for rule in RULES for line in _rule(rule))])


def _rule(rule: LintRule) -> Iterator[str]:
    yield f"\n### {rule.id} {rule.name}\n\n"
    needs = " and ".join(sorted(each.value for each in rule.needs))
    yield f"{rule.title} (*{rule.level.value}*{f'; needs {needs}' if needs else ''}). {rule.harm}\n\n"
    yield f"Mend: {rule.mend}.\n"


def _run() -> str:
    output = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path(FILE).write_text(MANIFESTS)
        try:
            with redirect_stdout(output), redirect_stderr(output):
                main(["lint", FILE])
        except SystemExit as end:
            code = end.code
    lines = "".join(f"    {line}".rstrip() + "\n" for line in output.getvalue().rstrip("\n").split("\n"))
    return f"{lines}\nIt exits with {code}.\n"


if __name__ == "__main__":
    PAGE.write_text(page())
