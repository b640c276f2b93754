"""Controllers that keep pods, and what they have in common."""
