"""The objects by which requests are told apart and queued: kept, and their status told."""
