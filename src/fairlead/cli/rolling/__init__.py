"""What rollouts are made of: their state, their revisions, and how to go back."""
