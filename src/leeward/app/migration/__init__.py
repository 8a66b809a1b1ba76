"""The switch of a control plane from Karmada to Leeward, and back: what is there, what would happen, and its steps.

    kinds              where the objects live that both use
    survey             reads what runs and what is installed; writes nothing
    definition_gaps    compares Karmada's definitions with ours
    inventory          the metadata of all objects
    review             says of a survey what is in the way, what will change and what stays
    record             keeps in the control plane what the switch has found, so that it can go on, and go back
    dependents         the objects that belong to a Cluster, and the references by which they do
    cluster_storage    who serves the Clusters: Karmada's aggregated API server, or a definition of ours
    marks              the annotations and labels under leeward.dev
    adopting           the steps of `leeward adopt`
    handing_back       the steps of `leeward hand-back`

Nothing here touches a member, a template's spec, or the spec of a binding or Work.
"""
