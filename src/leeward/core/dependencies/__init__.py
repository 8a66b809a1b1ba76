"""Dependencies: objects that a template names follow it into its clusters.

A binding with `propagateDeps` is a *dependant*. Each object that its template names, of its own namespace, gets an
*attached* binding: one without a placement, in the clusters of its `spec.requiredBy`. An object that a policy selects
itself has a binding already; `requiredBy` is added to it, and it is in the union of both.

    requirements   which objects a dependant needs, and in which clusters they have to be
    attached       the binding of an object that others need: its dependants, and their joint wishes
    order          the dependencies of a new copy are in the cluster before it

Karmada: pkg/dependenciesdistributor; same names, labels and events. Differences are marked: nothing is taken from under
a running copy, a new copy comes after its dependencies, and a template reaches its own namespace only.
"""
