"""HTTP/1.1 on the socket: strict in what it reads, bounded in what it holds."""
