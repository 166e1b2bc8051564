"""hwdsl: describe AI machines, ask what they are worth."""
