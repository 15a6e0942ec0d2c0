"""Files: written whole or not at all, read without running anything."""
