"""The built-in demo as a script: ``python examples/demo.py --output build/demo``.

It is ``deciban demo``; the code to read is in ``deciban/cli/commands/demo.py``.
"""

import sys

from deciban.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "demo")
    main()
