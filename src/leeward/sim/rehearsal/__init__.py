"""Rehearsals: a copy of a live control plane in virtual time, faults and changes at instants, and what is expected.

    scenario_file       the file: steps and expectations, decoded strictly
    rebuilt_templates   what a picture of a fleet leaves out: templates as their bindings and Works speak of them
    copied_world        a World that is as the picture says, with the controllers and settings of production
    other_load          what else runs in a cluster, so that as much is free as it reports
    scenario_steps      carries out what a step says
    fleet_recorder      what happens, read from the journal of the world
    expectations        whether what was expected came true
    rehearsal           all of it, from a picture and a scenario to a report
Nothing here reaches a live control plane: a picture goes in, a report comes out.
"""
