"""Tables in files: reading and writing them, whole or a few rows at a time."""
