"""Server-side apply: who owns which field, and what an applied configuration does to an object.

    fieldset.py    sets of paths, and their wire form
    typed.py       walks along structures: which fields a value has, how two differ, merging, removing
    checking.py    whether an applied configuration fits its structure
    managers.py    `metadata.managedFields`, read and written
    versions.py    the versions that owners own fields of, and how two states differ in each
    forgetting.py  what goes because nobody says it any more
    last_applied.py  what kubectl applied before it did so on the server
    updating.py    the two operations: an update takes what it changed, an apply takes what it says

Pure. Never stores anything, and never looks at a clock: the instant of a write comes in as text.
"""
