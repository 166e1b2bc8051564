"""The arithmetic both consumers share: each operation on float64 arrays, to the last bit.

`scalar(code, args)` evaluates one operation on Python floats by the same functions.
"""
