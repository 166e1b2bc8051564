"""Instruction printing: operations as C statements, given the names of their operands. Slots and
locals are the business of `regions`.

No statement branches: a lane loop with control flow in it is not vectorised.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hwdsl.codegen.ir.graph import Op
from hwdsl.codegen.numerics.c_backend import c_functions, c_literal
from hwdsl.codegen.operations import FORMULAS, OPERATIONS
from hwdsl.codegen.operations.record import Count, Elementwise, Entry, FirstBest, Fold, Gather

MAX_COUNTED_ENTRIES = 16
"""Entries of a table up to which `bucket` compares with all of them instead of searching."""

C_SOURCE: str = c_functions({c: (f, OPERATIONS[c].arity) for c, f in FORMULAS.items()})
"""C definitions of inline functions `double hw_<code>(double, …)` for every elementwise code."""


def op_cost(op: Op, sizes: Sequence[int]) -> int:
    """The cost model: roughly how many plain operations the C compiler will see for this one."""
    record = OPERATIONS[op.code]
    if isinstance(record.compute, FirstBest):
        return 4 * len(op.args)
    if isinstance(record.compute, Count):
        size = sizes[op.index]
        return size if size <= MAX_COUNTED_ENTRIES else 4 * size.bit_length()
    return record.cost if record.heavy else max(1, len(op.args) - 1)


def statements(
    name: str, op: Op, args: Sequence[str], table: str, sizes: Sequence[int],
    outlined: Collection[str] = (),
) -> list[str]:  # fmt: skip
    """C lines that define `name`, a `const double`, as the value of an operation.

    `table` is the prefix of the tables' names and `sizes` the tables' lengths. Codes in `outlined`
    are calls of functions compiled once for the module.
    """
    code, how = op.code, OPERATIONS[op.code].compute
    infix = how.elementwise if isinstance(how, Fold) else how
    if isinstance(infix, Elementwise) and infix.c is not None:
        return [f"const double {name} = {infix.c(args)};"]
    if isinstance(how, Fold):
        return _chain(name, f"hw_{how.step}", args)
    if isinstance(how, FirstBest):
        return _arg(name, how.sign, args)
    if isinstance(how, Gather):
        return _gather(name, args[0], args[1:])
    if isinstance(how, Entry):
        last = c_literal(float(sizes[op.index] - 1))
        return [f"const double {name} = {table}{op.index}[hw_index({args[0]}, {last})];"]
    if isinstance(how, Count):
        return _bucket(name, args[0], f"{table}{op.index}", sizes[op.index])
    function = f"hw_outlined_{code}" if code in outlined else f"hw_{code}"
    return [f"const double {name} = {function}({', '.join(args)});"]


def _chain(name: str, function: str, args: Sequence[str]) -> list[str]:
    """A reduction from the left by a function of two."""
    lines = [f"double {name} = {args[0]};"]
    return lines + [f"{name} = {function}({name}, {a});" for a in args[1:]]


def _arg(name: str, better: str, args: Sequence[str]) -> list[str]:
    """The first best; a number is better than NaN."""
    if len(args) == 1:
        return [f"(void){args[0]};", f"const double {name} = 0.0;"]
    lines = [f"double {name} = 0.0, {name}_b = {args[0]};"]
    for k, a in enumerate(args[1:], 1):
        # `|` and `&`, not `||` and `&&`, which are branches in C.
        wins = f"({a} {better} {name}_b) | (({name}_b != {name}_b) & ({a} == {a}))"
        lines.append(f"{{ const int w = {wins}; {name} = w ? {c_literal(k)} : {name}; "
                     f"{name}_b = w ? {a} : {name}_b; }}")  # fmt: skip
    return lines


def _gather(name: str, index: str, values: Sequence[str]) -> list[str]:
    """One of some values, as selections: they vectorise, and no index can lead outside."""
    lines = [f"(void){index};", f"double {name} = {values[0]};"]
    return lines + [
        f"{name} = {index} >= {c_literal(k)} ? {v} : {name};" for k, v in enumerate(values[1:], 1)
    ]


def _bucket(name: str, value: str, table: str, size: int) -> list[str]:
    """How many entries are at most the value: counted, or by a binary search whose number of steps
    depends on the table alone, so that all lanes take the same steps and the loop vectorises."""
    if size <= MAX_COUNTED_ENTRIES:
        if not size:
            return [f"(void){value};", f"const double {name} = 0.0;"]
        terms = [f"({table}[{k}] <= {value})" for k in range(size)]
        return [f"const double {name} = (double)({' + '.join(terms)});"]
    lines = [f"int32_t {name}_p = 0;"]
    step = 1 << (size.bit_length() - 1)
    while step:
        at = f"{name}_p + {step - 1}"
        inside = f"{at} < {size} ? {at} : {size - 1}"
        lines.append(
            f"{name}_p += ({name}_p + {step} <= {size}) & ({table}[{inside}] <= {value}) "
            f"? {step} : 0;"
        )
        step >>= 1
    return [*lines, f"const double {name} = (double){name}_p;"]
