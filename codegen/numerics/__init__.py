"""Arithmetic that is the same to the last bit on three machines: Python floats, NumPy arrays and C.

A formula is a function of a machine and its operands. The machines are modules of their own, so
that what only folds constants imports neither NumPy nor makes C. NaNs are equal in being NaN: their
sign and payload are not defined. The graph's operations have theirs in `hwdsl.codegen.operations`.
"""
