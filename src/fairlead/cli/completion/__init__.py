"""What a shell offers while a command is typed."""
