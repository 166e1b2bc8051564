"""JSON Schemas of what commands answer with `--format json`, made from `hwdsl.cli.answers`."""
