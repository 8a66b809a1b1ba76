"""The switch of a control plane from Karmada to Leeward, and back: survey, plan and steps.

    kinds              where the objects live that both use
    survey             reads the running and the installed components; writes nothing
    definition_gaps    compares Karmada's definitions with ours
    inventory          the metadata of all objects
    review             tells of a survey obstacles, changes, and objects that stay
    record             keeps the findings of the switch in the control plane, so that it can go on, and go back
    dependents         the objects that belong to a Cluster, and the references by which they do
    cluster_storage    who serves the Clusters: Karmada's aggregated API server, or a definition of ours
    marks              the annotations and labels under leeward.dev
    adopting           the steps of `leeward adopt`
    handing_back       the steps of `leeward hand-back`
Nothing here touches a member, a template's spec, or the spec of a binding or Work.
"""
