"""Data files only."""
