"""``python -m reproduction``."""

import sys

try:
    from reproduction.command import main
except ModuleNotFoundError as missing:
    sys.exit(f"python -m reproduction needs {missing.name}, not installed here. Run: make setup")

if __name__ == "__main__":
    main()
