"""Commands that show and change the client configuration."""
