"""Objects and those that they own."""
