"""Overrides: what OverridePolicies change in a manifest on its way to one cluster.

    applicable      which policies apply to a template, and in which order
    rendering       carries them out for one cluster; says what was applied, or why nothing was
    images, commands, marks, embedded, plaintext
                    one kind of overrider each, on a `Document`: the manifest as it was is never changed
    containers      all that goes through containers, in one pass
    effort          how much one rendering may take, and its pauses

Nothing here looks anything up: policies and the Cluster are arguments.
"""
