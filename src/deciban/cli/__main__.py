"""``python -m deciban.cli``."""

from deciban.cli import main

main()
