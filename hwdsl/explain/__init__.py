"""Why an output has its value: provenance, steps, sums."""
