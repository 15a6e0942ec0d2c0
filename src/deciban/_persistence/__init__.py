"""Files: written whole or not at all, read without running anything."""

from deciban._persistence.atomic import checked_path, write_whole

__all__ = ["checked_path", "write_whole"]
