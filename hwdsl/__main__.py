"""`python -m hwdsl`: the command line."""

import sys

from hwdsl.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
