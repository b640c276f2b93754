"""Dynamic admission: webhooks that configurations name are asked before a write."""
