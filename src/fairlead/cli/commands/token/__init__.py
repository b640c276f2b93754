"""Commands about tokens of service accounts."""
