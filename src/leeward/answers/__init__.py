"""Answers about a fleet: why an application is where it is, what happens next, and what would happen if.

    fleet_state   a frozen picture of a control plane, which can be kept in a file
    reading       takes it from any control plane, with GETs only
    redaction     leaves secrets out of it
    decisions     asks the scheduler's decision about a binding of the picture, with its reasons
    explanation   why a binding is where it is, what holds it, and what happens next

Every answer is a pure function of a `FleetState`, and asks the functions that decide in production. The command line
prints them, and so can anything else that shows a fleet. Nothing here writes to a control plane. Start reading at
`fleet_state`.
"""
