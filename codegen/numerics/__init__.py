"""Arithmetic with the same bits on three back ends: Python floats, NumPy arrays and C.

A formula is a function of a back end and its operands. The back ends are modules of their own, so
that what only folds constants imports neither NumPy nor makes C. NaNs are equal in being NaN: their
sign and payload are not defined. The graph's operations have theirs in `hwdsl.codegen.operations`.
"""
