"""Graphs to C."""
