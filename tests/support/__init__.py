"""What the tests share: a server process, an HTTP client, and short ways to write objects."""
