"""The graph: its operations, its text form, its verifier and its interpreter."""
