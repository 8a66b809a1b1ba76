"""The flags of the components: one table from Karmada's names to settings.

Start reading at `table.py`. Values are texts until `settings_of` reads them, so that a fleet can keep them as they were
typed. Never parses a command line: that is `leeward.cli`.
"""
