"""Dynamic admission: calls the webhooks of stored configurations before a write."""
