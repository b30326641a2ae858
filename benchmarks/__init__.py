"""Side-by-side measurements; each module prints a ratio against the peer it runs."""
