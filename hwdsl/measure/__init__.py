"""Measured tables: validation and calibration of evaluators."""
