"""Mends taken back: for each bug that was found once, texts that bring it back, and a program.

The law must find each bug again: in drawn programs (`python benchmarks/law.py --mutants`), and in
its `witness`, by a test.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

PACKAGES = {"hwdsl": ".", "codegen": "codegen", "grammar": "grammar", "library": "library"}
"""Folders of the checkout, and where they lie in the installed package."""


@frozen
class Edit:
    """A text of a file that mends, and what stood there before."""

    file: str
    mended: str
    unmended: str


@frozen
class Mutant:
    """A bug that can be brought back. `compiled` says that it takes a compiler to see it."""

    name: str
    said: str
    edits: tuple[Edit, ...]
    witness: str
    compiled: bool = False


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "B1",
        "`known` of a choice is decided for all alternatives, and for one where it is fixed",
        (
            Edit(
                "hwdsl/elaborate/partial_evaluator.py",
                "return self.where_known(assertions)[1]\n",
                "return self.truth(self.where_known(assertions)[1].known == 1.0)\n",
            ),
        ),
        """kind part { v : real }
part X { v = unknown "nobody says" }
part Y { v = 7 }
evaluator e {
    choice c : part in [X, Y] = Y
    param k : real = 1 in 0 .. 2
    output price = k * (if known(c.v) then c.v else 1)
}
""",
    ),
    Mutant(
        "B2",
        "the best of nothing but NaN is infinite in a loop, and NaN where it is written out",
        (
            Edit(
                "hwdsl/elaborate/comprehensions.py",
                '"lowest": math.nan,  # it loses to every number, infinite ones too\n'
                '    "highest": math.nan,',
                '"lowest": math.inf,\n    "highest": -math.inf,',
            ),
            Edit(
                "hwdsl/elaborate/comprehensions.py",
                'taken = m.op(expr, "or", better, first)',
                "taken = better",
            ),
        ),
        """evaluator e {
    param n : int = 20 in 0 .. 40
    param x : real = 0 in 0 .. 1
    output long = lowest(x / x + k for k in 0 .. n).value
}
""",
    ),
    Mutant(
        "B3",
        "a sum over a filter starts from its first term where the filter is known",
        (
            Edit(
                "hwdsl/elaborate/comprehensions.py",
                '[m.const(0.0, INT if _is_int(m, how, expr) else REAL)] if how == "sum" '
                "else list[Ref]()",
                "list[Ref]()",
            ),
        ),
        """evaluator e {
    param n : int = 1 in 0 .. 2
    param x : real = 0 in 0 .. 1
    output y = 1 / sum(-x for i in 1 .. 3 if i > n)
}
""",
    ),
    Mutant(
        "B4",
        "an index that is NaN breaks no rule, and is a crash where it is known",
        (
            Edit(
                "hwdsl/elaborate/select_lowering.py",
                'at = m.require_constant(index, "an index", span)\n',
                'at = int(m.require_constant(index, "an index", span))\n',
            ),
            Edit(
                "hwdsl/elaborate/partial_evaluator.py",
                "return not found.nan and low <= found.low and found.high <= high",
                "return low <= found.low and found.high <= high",
            ),
        ),
        """evaluator e {
    param a : real = 0 in 0 .. 4
    param b : real = 0 in 0 .. 4
    output y = [10.0, 20.0, 30.0][min(max(floor(a / b), 0), 2)]
}
""",
    ),
    Mutant(
        "B8",
        "infinite defaults and alternatives do not reach a compiled module",
        (
            Edit(
                "codegen/build/literals.py",
                "return repr(float(value))  # `inf`",
                'return repr(float(value)) if abs(value) < float("inf") else "None"  # `inf`',
            ),
        ),
        """evaluator e {
    choice limit : real in [1.0, inf] = inf
    param x : real = inf in 0 .. inf
    output y = min(x, limit)
}
""",
        compiled=True,
    ),
    Mutant(
        "B9",
        "a module that comes from the cache cannot say why after a change of directory",
        (
            Edit(
                "hwdsl/api/evaluator.py",
                "Source(os.path.abspath(main.name), main.text)",
                "Source(main.name, main.text)",
            ),
        ),
        """use beside
evaluator e {
    param x : real = 1 in 0 .. 1
    output y = twice(x)
}
""",
    ),
    Mutant(
        "filter",
        "what no term of a long range takes part with is an error, and of a short one is not",
        (
            Edit(
                "hwdsl/elaborate/comprehensions.py",
                "broken = failure.diagnostic.name in IMPLIED and count <= MAX_ITEMS\n",
                "broken = False\n",
            ),
        ),
        """evaluator e {
    param on : bool = true
    param n : int = 20 in 0 .. 40
    output y = sum(min(k for i in [1] if on) for k in 0 .. 30 if k > n)
}
""",
    ),
    Mutant(
        "B10",
        "a compiled module reads texts as Python does",
        (
            Edit(
                "codegen/runtime/evaluator.py",
                "            found = written(text, param.scale, self.units)\n",
                "            plain = not text.strip(' 0123456789._e+-')\n"
                "            if plain and type(self) is KernelEvaluator:\n"
                "                return param.scale.to_base(float(text)), param.scale\n"
                "            found = written(text, param.scale, self.units)\n",
            ),
        ),
        """evaluator e {
    param x : real = 1 in 0 .. 10
    output y = x
}
""",
        compiled=True,
    ),
    Mutant(
        "B11",
        "a choice of choices whose alternatives have different parts has none",
        (
            Edit(
                "hwdsl/elaborate/parts.py",
                "found = {common_part_names(a) for a in of.alternatives}\n",
                "found = {common_part_names(a) or () for a in of.alternatives}\n",
            ),
        ),
        """kind memory { size : real }
memory small { size = 1 }
kind package { scale : real = 1, let total = scale * sum(m.size * m.count for m in parts.memory) }
package one { memory a : small }
package two { memory b : small, memory c[4] : small }
evaluator e {
    choice p : package in [one, two]
    param f : bool = true
    output y = (if f then p else p with { scale = 2 }).total
}
""",
    ),
    Mutant(
        "B12",
        "a part that is of a narrower kind in some alternatives is of it in none",
        (
            Edit(
                "hwdsl/elaborate/parts.py",
                "found = {is_part_of_kind(a, kind) for a in item.alternatives}\n",
                "found = {False}\n",
            ),
        ),
        """kind memory { size : real }
kind stack : memory { let layers = 8 }
memory flat { size = 1 }
stack tall { size = 2 }
kind package { let layers = sum(m.layers * m.count for m in parts.stack) }
package one { memory a : flat }
package two { memory a[3] : tall }
evaluator e {
    choice p : package in [one, two]
    output y = p.layers
}
""",
    ),
    Mutant(
        "B13",
        "what the parts of one alternative imply holds where another is chosen too",
        (
            Edit(
                "hwdsl/elaborate/records.py",
                "    names = common_part_names(of)\n",
                "    names = common_part_names(of)\n"
                "    if isinstance(of, SelectRecord):\n"
                "        for each in of.alternatives:\n"
                "            all_parts(m, each, span)\n",
            ),
        ),
        """kind memory { size : real = 1 }
memory small { }
memory large { size = 2 }
kind package { let total = sum(m.size * m.count for m in parts.memory) }
package one { memory a : small }
package two { memory b : small }
evaluator e {
    param f : bool = true
    param i : int = 0 in 0 .. 9
    output y = (if f then two with { b = [small, large][i] } else one).total
}
""",
    ),
)


def plant(root: Path, folder: Path, mutants: Sequence[Mutant]) -> None:
    """A copy of the package in `folder` with the mends taken back; ValueError for a text that is
    not there any more."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "*.so")
    for name, inside in PACKAGES.items():
        shutil.copytree(root / name, folder / "hwdsl" / inside, ignore=ignored, dirs_exist_ok=True)
    for mutant in mutants:
        for edit in mutant.edits:
            first, _, rest = edit.file.partition("/")
            path = folder / "hwdsl" / PACKAGES[first] / rest
            text = path.read_text("utf-8")
            if text.count(edit.mended) != 1:
                raise ValueError(f"{mutant.name}: {edit.file} no longer has {edit.mended!r}")
            path.write_text(text.replace(edit.mended, edit.unmended), "utf-8")
