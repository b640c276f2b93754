"""Where a server is, whom to trust, and how to prove who we are."""
