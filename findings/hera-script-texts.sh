#!/usr/bin/env bash
# Question: a step of Argo Workflows is a Python function with `@script()` of hera; which value has a text that it is called
#   with?
# Versions: hera 7.1.0 (PyPI).
# One would guess: the text; the parameter of the function says `str`, and parameters of workflows are texts.
# What is: the step reads each parameter as JSON first, whatever the function says. The version "1.10" is the number 1.1 in
#   the Pod, "010" stays a text, "1e3" is 1000.0, "true" is a truth value and "null" is None.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq hera==7.1.0
cat > flow.py <<'FLOW'
import subprocess
import sys

from hera.workflows import Steps, Workflow, script


@script(image="python:3.13")
def deploy(version: str) -> None:
    print(f"  {type(version).__name__} {version}", flush=True)


for given in ("1.10", "010", "1e3", "true", "null", "web"):
    with Workflow(generate_name="deploy-", entrypoint="steps") as workflow:
        with Steps(name="steps"):
            deploy(arguments={"version": given})
    step, source = workflow.to_dict()["spec"]["templates"]
    (passed,) = step["steps"][0][0]["arguments"]["parameters"]
    print(f"{passed['value']!r} in the workflow:", flush=True)
    text = source["script"]["source"].replace("{{inputs.parameters.version}}", passed["value"])
    subprocess.run([sys.executable, "-c", text], check=True)
FLOW
env/bin/python flow.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
'1.10' in the workflow:
  float 1.1
'010' in the workflow:
  str 010
'1e3' in the workflow:
  float 1000.0
'true' in the workflow:
  bool True
'null' in the workflow:
  NoneType None
'web' in the workflow:
  str web
EXPECTED
