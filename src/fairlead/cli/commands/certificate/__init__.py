"""Commands about certificate signing requests."""
