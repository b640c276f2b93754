"""Commands about bootstrap tokens, with which nodes join."""
