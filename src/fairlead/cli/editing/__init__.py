"""Objects in an editor."""
