"""What a reviewer must see about a revision, found by rule; one family a file."""
