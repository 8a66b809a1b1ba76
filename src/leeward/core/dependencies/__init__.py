"""Dependencies: what a template names follows it into the clusters that it goes to.

A binding with `propagateDeps` is a *dependant*. Each object that its template names, of its own namespace, gets an
*attached* binding: one without a placement, which is where its `spec.requiredBy` says. An object that a policy selects
itself has a binding already; `requiredBy` is added to it, and it is in the union of both.

    requirements   which objects a dependant needs, and in which clusters they have to be
    attached       the binding of an object that others need: who needs it, and what they ask for together
    order          what a new copy waits for: its dependencies are in the cluster before it

Karmada: pkg/dependenciesdistributor; same names, labels and events. What differs is marked: nothing is taken from under
a copy that runs, a new copy comes after what it needs, and a template reaches its own namespace only.
"""
