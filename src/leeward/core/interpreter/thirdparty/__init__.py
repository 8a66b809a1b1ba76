"""Kinds of other projects that Karmada knows without being told: Argo, Flink, Flux, Kruise, Kubeflow, Kyverno, ...

One module per project, whose `KINDS` are its kinds with their rules. What several need is in `aggregation.py`,
`merged_conditions.py`, `pod_templates.py` and `reflection.py`.

Karmada: pkg/resourceinterpreter/default/thirdparty; the same behaviour, learned from the recorded cases in
`tests/data/oracle` and not from its scripts. Differences: what is empty stays (a script of Lua loses it), and a
condition of ours is dated as those of the members that it is made of.
"""
