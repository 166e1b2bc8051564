"""Measure what the design promises, and print it.

python benchmarks/run.py [--quick] [kernel] [peers] [commands]
"""

import argparse
import os
import platform
import tempfile
from pathlib import Path

import commands
import kernel
import peers

PARTS = {"kernel": kernel.main, "peers": peers.main, "commands": commands.main}


def main():
    """Run the parts named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer points and repetitions")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    options = parser.parse_args()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, "
          f"Python {platform.python_version()}")  # fmt: skip
    for name in options.parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HWDSL_CACHE_DIR"] = str(Path(folder) / "cache")
            PARTS[name](Path(folder), options.quick)


if __name__ == "__main__":
    main()
