"""The pages of the diagnostics: NAME.md with a failing and a fixed example."""
