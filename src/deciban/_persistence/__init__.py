"""Files: written whole or not at all, read without running anything."""

from deciban._persistence.atomic import open_atomically, require_writable, write_atomically

__all__ = ["open_atomically", "require_writable", "write_atomically"]
