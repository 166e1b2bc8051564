"""What everything stands on: sources, diagnostics, units, the store of artifacts."""
