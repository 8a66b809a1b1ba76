"""Virtual time, by the name under which Leeward's stories import it."""
