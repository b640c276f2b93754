"""Who may do what, and why."""
