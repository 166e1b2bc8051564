"""How large the code is, how its rooms hang together, and how many files each of six tasks touches.

    python benchmarks/house.py [TREE]

TREE is a checkout (this one unless given), so that two commits are measured by one script. A room is
a folder or a module directly in `hwdsl/` or `codegen/`. Its floor is the length of the longest chain
of imports below it, where rooms that import each other stand together. Imports inside functions count.
"""

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path

# What an example of each task is called in texts of Python or in a library file: a file that names it is one
# that whoever adds another has to touch, or at least to read.
TASKS = {
    "a builtin (`log2`)": r"log2",
    "a check (`floor-division`)": r"floor-division",
    "a command (`fmt`)": r"fmt|fmt_",
    "a unit (`day`)": r"day",
}
# Text of C or of its compiler: not the word `double` in a message, nor what a docstring tells of.
C_TEXT = re.compile(
    r"#include|static inline|\bdouble ($|\w+[,)=( ])|__attribute__|\.pyx\b|-O[23]\b|^(gcc|clang)$|Cython"
)
GENERATED = {"__pycache__"}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def modules(tree: Path) -> dict[str, Path]:
    """The Python modules of the product by their dotted names."""
    found = {}
    for folder, prefix in (("hwdsl", ""), ("codegen", "hwdsl."), ("grammar", "hwdsl.")):
        for file in sorted((tree / folder).rglob("*.py")):
            if GENERATED.isdisjoint(file.parts):
                parts = list(file.relative_to(tree).with_suffix("").parts)
                if parts[-1] == "__init__":
                    parts.pop()
                found[prefix + ".".join(parts)] = file
    return found


def code_lines(path: Path) -> tuple[int, int, int]:
    """Lines, lines of code (no blanks, docstrings, comments) and comments of a file."""
    text = path.read_text("utf-8")
    docs = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            docs.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    code, comments = set(), 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments += 1
        elif token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            code.update(range(token.start[0], token.end[0] + 1))
    return (
        text.count("\n"),
        len({n for n in code if n not in docs} - {text.count("\n") + 1}),
        comments,
    )


def texts_of(path: Path) -> list[str]:
    """The texts that a module computes with, which docstrings are not."""
    nodes = list(ast.walk(parsed(path)))
    prose = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
    found = (n for n in nodes if isinstance(n, ast.Constant) and id(n) not in prose)
    return [n.value for n in found if isinstance(n.value, str)]


def imports(name: str, path: Path, known: dict[str, Path], inside: bool) -> set[str]:
    """The product's modules that a module imports; those of its functions only with `inside`."""
    found = set()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    waiting = [parsed(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found.update(a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] + "." if node.level else ""
            base = (base + (node.module or "")).rstrip(".")
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.add(whole if whole in known else base)
        elif inside or not isinstance(node, ast.FunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return {f for f in found if f in known and f != name}


def room(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[: 3 if parts[1:2] == ["codegen"] else 2])


def components(arrows: dict[str, set[str]]) -> list[set[str]]:
    """Groups of what reaches each other, by Tarjan's algorithm: what is below comes first."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    done: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = set(stack[stack.index(node) :])
            del stack[stack.index(node) :]
            done.append(group)

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return done


def floors(arrows: dict[str, set[str]]) -> int:
    height: dict[str, int] = {}
    for group in components(arrows):
        below = [height[o] for n in group for o in arrows.get(n, ()) if o not in group]
        for node in group:
            height[node] = max(below, default=0) + 1
    return max(height.values())


def sizes(found: dict[str, Path]) -> None:
    by_folder: dict[str, list[Path]] = defaultdict(list)
    for name, path in found.items():
        parts = name.split(".")
        depth = 3 if parts[1:2] == ["codegen"] else 2
        folder = (
            ".".join(parts[:depth])
            if len(parts) > depth or path.name == "__init__.py"
            else ".".join(parts[: depth - 1])
        )
        by_folder[folder].append(path)
    print("| folder | files | lines | code | comments per 100 of code |\n|---|---|---|---|---|")
    total = [0, 0, 0, 0]
    for folder, paths in sorted(by_folder.items()):
        counted = [code_lines(p) for p in paths]
        row = [len(paths), *(sum(c[i] for c in counted) for i in range(3))]
        total = [a + b for a, b in zip(total, row, strict=True)]
        print(
            f"| {folder} | {row[0]} | {row[1]:,} | {row[2]:,} | {100 * row[3] / max(row[2], 1):.1f} |"
        )
    print(f"| all | {total[0]} | {total[1]:,} | {total[2]:,} | {100 * total[3] / total[2]:.1f} |\n")


def shared_names(found: dict[str, Path]) -> dict[str, list[str]]:
    """The public names of classes that stand in more than one module, and in which."""
    names: dict[str, set[str]] = defaultdict(set)
    for name, path in found.items():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                names[node.name].add(name)
    return {n: sorted(m) for n, m in names.items() if len(m) > 1}


def structure(found: dict[str, Path]) -> None:
    files = {n: imports(n, p, found, True) for n, p in found.items()}
    print("| | rooms | floors | arrows |\n|---|---|---|---|")
    for label, prefix, depth in (("hwdsl", "hwdsl.", 2), ("codegen", "hwdsl.codegen.", 3)):
        arrows: dict[str, set[str]] = defaultdict(set)
        for name, others in files.items():
            if not name.startswith(prefix):
                continue
            here = ".".join(name.split(".")[:depth])
            arrows[here] |= set()
            for other in others:
                there = ".".join(other.split(".")[:depth])
                if other.startswith(prefix) and there != here:
                    arrows[here].add(there)
        rooms = set(arrows) | {o for s in arrows.values() for o in s}
        print(f"| {label} | {len(rooms)} | {floors(arrows)} | {sum(map(len, arrows.values()))} |")
    circles = [sorted(g) for g in components(files) if len(g) > 1]
    print(f"\ncircles of files: {len(circles)}")
    for circle in circles:
        print("   ", ", ".join(circle))
    twice = shared_names(found)
    print(f"public class names with more than one meaning: {len(twice)}")
    for name, where in sorted(twice.items()):
        print(f"    {name}: {', '.join(where)}")
    print()


def tasks(tree: Path, found: dict[str, Path]) -> None:
    print("| task | files | which |\n|---|---|---|")
    library = sorted((tree / "library" / "std").glob("*.hw"))
    for task, word in TASKS.items():
        quoted = re.compile(rf"(?:{word})")
        hits = []
        for path in [*found.values(), *library]:
            if path.suffix == ".hw":
                text = path.read_text("utf-8")
                if re.search(
                    rf"^\s*(?:unit|extern fn|builtin) +(?:{word})\b|\bprefix .*\b(?:{word})\b",
                    text,
                    re.M,
                ):
                    hits.append(path)
                continue
            texts = (
                n.value
                for n in ast.walk(parsed(path))
                if isinstance(n, ast.Constant) and isinstance(n.value, str)
            )
            stem = path.stem if "cli" in path.parts else ""
            if any(
                quoted.fullmatch(w) for t in texts if len(t) < 400 for w in t.split()
            ) or quoted.fullmatch(stem):
                hits.append(path)
        if task.startswith("a check"):
            hits += sorted(tree.glob("hwdsl/**/pages/floor-division.md"))
        shown = ", ".join(str(h.relative_to(tree)) for h in hits)
        print(f"| {task} | {len(hits)} | {shown} |")
    c_files = [p for p in found.values() if any(map(C_TEXT.search, texts_of(p)))]
    rooms = sorted({str(p.parent.relative_to(tree)) for p in c_files})
    print(
        f"| a target: files with text of C or of its compiler | {len(c_files)} | in {', '.join(rooms)} |"
    )
    arrows = {n: imports(n, p, found, True) for n, p in found.items()}
    reached, waiting = (
        set(),
        [n for n in found if n.startswith(("hwdsl.syntax", "hwdsl.semantics"))],
    )
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(arrows[name])
    generator = sum(n.startswith("hwdsl.codegen") for n in reached)
    print(
        f"| a language server: files that parsing and checking reach | {len(reached)} | of these {generator} of the code generator |"
    )


def main() -> None:
    tree = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = modules(tree)
    sizes(found)
    structure(found)
    tasks(tree, found)


if __name__ == "__main__":
    main()
