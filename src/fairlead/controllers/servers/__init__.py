"""What several servers on one store agree about: who leads, and who is there."""
