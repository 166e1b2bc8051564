"""The command line. Each command is a module with `add(subparsers)`; its `run` imports the rest."""
