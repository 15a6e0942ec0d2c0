"""Checks at the edge: any array library in, checked once, the same kind out."""
