"""Operations as C statements. Text in, text out: where values live is the emitter's business."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from hwdsl.codegen.ir.graph import Op

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "sum": "+", "prod": "*"}
HEAVY = {"pow": 40, "exp": 16, "log": 20, "log2": 40, "log10": 40, "expm1": 24, "log1p": 24,
         "sin": 30, "cos": 30, "tanh": 30}  # fmt: skip
SCAN = 16


def literal(value: float) -> str:
    """A float64 as a C constant, to the last bit."""
    if math.isnan(value):
        return "(-NAN)" if math.copysign(1.0, value) < 0 else "NAN"
    if math.isinf(value):
        return "(-INFINITY)" if value < 0 else "INFINITY"
    text = float(value).hex()
    return f"({text})" if text.startswith("-") else text


def weight(op: Op, sizes: Sequence[int]) -> int:
    """Roughly how many plain operations the C compiler will see for this one."""
    if op.code in ("argmin", "argmax"):
        return 4 * len(op.args)
    if op.code == "bucket":
        size = sizes[op.index]
        return size if size <= SCAN else 4 * size.bit_length()
    return HEAVY.get(op.code, max(1, len(op.args) - 1))


def statements(
    name: str, op: Op, args: Sequence[str], table: str, sizes: Sequence[int],
    far: Collection[str] = (),
) -> list[str]:  # fmt: skip
    """C lines that define `name`, a `const double`, as the value of an operation.

    `table` is the prefix of the tables' names and `sizes` the tables' lengths. Codes in `far` are
    calls of functions compiled apart.
    """
    code = op.code
    if code in INFIX:
        return [f"const double {name} = {f' {INFIX[code]} '.join(args)};"]
    if code == "neg":
        return [f"const double {name} = -{args[0]};"]
    if code == "select":
        return [f"const double {name} = {args[0]} != 0.0 ? {args[1]} : {args[2]};"]
    if code in ("nmin", "nmax"):
        return _chain(name, f"hw_{code[1:]}", args)
    if code in ("argmin", "argmax"):
        return _arg(name, "<" if code == "argmin" else ">", args)
    if code == "gather":
        return _gather(name, args[0], args[1:])
    if code == "table":
        last = literal(float(sizes[op.index] - 1))
        return [f"const double {name} = {table}{op.index}[hw_index({args[0]}, {last})];"]
    if code == "bucket":
        return _bucket(name, args[0], f"{table}{op.index}", sizes[op.index])
    function = f"hw_far_{code}" if code in far else f"hw_{code}"
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
        wins = f"({a} {better} {name}_b) | (({name}_b != {name}_b) & ({a} == {a}))"
        lines.append(f"{{ const int w = {wins}; {name} = w ? {literal(k)} : {name}; "
                     f"{name}_b = w ? {a} : {name}_b; }}")  # fmt: skip
    return lines


def _gather(name: str, index: str, values: Sequence[str]) -> list[str]:
    """One of some values, as selections: they vectorise, and no index can lead outside."""
    lines = [f"(void){index};", f"double {name} = {values[0]};"]
    return lines + [
        f"{name} = {index} >= {literal(k)} ? {v} : {name};" for k, v in enumerate(values[1:], 1)
    ]


def _bucket(name: str, value: str, table: str, size: int) -> list[str]:
    """How many entries are at most the value: counted, or by a search of fixed length."""
    if size <= SCAN:
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
