"""What users hold in Python: files loaded, their evaluators, and what of them is stored."""
