"""Servers over the environments. The package is reserved; nothing is served yet."""
