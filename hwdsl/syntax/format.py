"""The formatter: a tree as canonical text. Formatting twice changes nothing; comments are kept."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from hwdsl.syntax import ast
from hwdsl.syntax.comments import CommentQueue, block_start
from hwdsl.syntax.layout import StatementRow, align, lay_out
from hwdsl.syntax.print_expr import (
    STEP,
    WIDTH,
    ExpressionPrinter,
    literal,
    path_text,
    patterns_text,
    type_text,
    unit_text,
)
from hwdsl.syntax.text import escape

CITED_WIDTH = 120
"""Columns that a line may have with what it is from, which is read like a comment."""


def format_module(module: ast.Module) -> str:
    """Return a module as canonical text."""
    return _Formatter(module).module(module)


class _Formatter(CommentQueue, ExpressionPrinter):
    """Writes one module."""

    def module(self, tree: ast.Module) -> str:
        """Write the whole file."""
        head = [] if tree.edition is None else [f"edition {tree.edition}"]
        if not self.comments and tree.doc:
            head += [f"#! {line}".rstrip() for line in tree.doc.split("\n")]
        body = self.statements(tree.items, 0, len(self.origin.text) + 1, top=True)
        while body and not body[0] and not head:  # a file does not start with empty lines
            del body[0]
        return "\n".join([*head, *body]) + "\n" if head or body else ""

    # --- blocks ------------------------------------------------------------------------------

    def statements(
        self, nodes: Sequence[ast.Node], indent: int, end: int, top: bool = False
    ) -> list[str]:
        """Write statements, one or more lines each, and the comments up to `end`."""
        rows: list[StatementRow] = []
        for node in nodes:
            row = StatementRow(type(node), [], [])
            self.lead(node, row)
            self.inner_comments(node, row)
            written = self.statement(node, indent, bool(rows))
            if isinstance(written, str):
                row.lines = written.split("\n")
            else:
                row.cells = written
                row.lines = [" ".join(c for c in written if c)]
            self.last = max(self.last, node.span.end)
            row.trailing = self.take_trailing(node.span.end, end)
            rows.append(row)
        rest = StatementRow(type(None), [], [])
        self.put_comments(end, rest)
        align(rows, indent)
        for node, row in zip(nodes, rows, strict=True):
            self.end_with_basis(node, row, indent)
        return lay_out([*rows, rest], indent, top)

    def end_with_basis(self, node: ast.Node, row: StatementRow, indent: int) -> None:
        """Write where a declaration is from behind it, after its value found its place."""
        basis: ast.Basis | None = getattr(node, "sources", None)
        if basis is not None:
            *before, last = row.lines[-1].split("\n")
            column = len(last) + 1 + (0 if before else indent)
            last = f"{last} {self.basis(basis, column, indent)}"
            row.lines[-1] = "\n".join([*before, last])

    def basis(self, node: ast.Basis, column: int, indent: int) -> str:
        """Write what something is from, a line for each citation if they do not fit on one."""
        if isinstance(node, ast.Assume):
            return f"assume {literal(node.text)}"
        texts = [_citation(one) for one in node.citations]
        flat = f"source {texts[0]}" if len(texts) == 1 else f"source ({', '.join(texts)})"
        alone = len(texts) == 1 and column == indent  # a line of its own would be no shorter
        if alone or column + len(flat) <= CITED_WIDTH or indent < 0:
            return flat
        pad = " " * (indent + STEP)
        return "\n".join(["source (", *(f"{pad}{text}," for text in texts), " " * indent + ")"])

    def block(self, owner: ast.Node, members: Sequence[ast.Node], indent: int) -> str:
        """Write a block with one member a line."""
        end = owner.span.end
        if not members and not self.has_comment(owner.span.start, end):
            return "{}"
        note = ""
        if members and self.next < len(self.comments):
            comment = self.comments[self.next]
            if not comment.own_line and owner.span.start <= comment.start < members[0].span.start:
                self.next += 1
                note = f"  {comment.text}"
                self.last = comment.start
        lines = self.statements(members, indent + STEP, end)
        while lines and not lines[0]:
            del lines[0]
        while lines and not lines[-1]:
            del lines[-1]
        self.last = max(self.last, end)
        return "\n".join([f"{{{note}", *lines, " " * indent + "}"])

    def flat_block(self, node: ast.With | ast.Match) -> str | None:
        """Write a block on one line, if it was and may be."""
        return self.one_line(node, node.members if isinstance(node, ast.With) else node.arms)

    def one_line(self, owner: ast.Node, members: Sequence[ast.Node]) -> str | None:
        """Write `{ a = 1, b = 2 }` for a block that was on one line, else return None."""
        if self.commented(owner):
            return None
        if not members:
            return "{}"
        if "\n" in self.origin.text[block_start(owner) : members[0].span.start]:
            return None
        parts = []
        for member in members:
            if getattr(member, "doc", "") or isinstance(member, ast.Rule | ast.Fn):
                return None
            # Nothing is taken from the comments here: there are none in this range.
            # So far to the left everything fits; what still breaks answers "\n", which is refused.
            written = self.statement(member, -WIDTH * WIDTH, False)
            text = _text(written)
            basis: ast.Basis | None = getattr(member, "sources", None)
            if basis is not None:
                text += f" {self.basis(basis, 0, -1)}"
            if "\n" in text:
                return None
            parts.append(text)
        return f"{{ {', '.join(parts)} }}"

    # --- statements --------------------------------------------------------------------------

    def statement(self, node: Any, indent: int, follows: bool) -> str | list[str]:
        """Write a statement: as text of several lines, or as the cells of one."""
        match node:
            case ast.Field(name=name, type=kind, default=default, range=bounds):
                row = [name.name, f": {type_text(kind)}"]
                if bounds is None:
                    return self.cells(indent, row, "=", default)
                if isinstance(default, ast.Unknown):
                    row.append(f"= unknown {literal(default.reason)}")
                    return self.values(indent, row, ("in", bounds))
                return self.values(indent, row, ("=", default), ("in", bounds))
            case ast.Assign(path=path, value=value):
                return self.cells(indent, [path_text(path)], "=", value)
            case ast.Let(name=name, type=kind, value=value):
                typed = f" : {type_text(kind)}" if kind is not None else ""
                return self.cells(indent, [f"let {name.name}{typed}"], "=", value)
            case ast.State(name=name, type=kind, initial=value):
                return self.cells(
                    indent, [f"state {name.name}", f": {type_text(kind)}"], "=", value
                )
            case ast.Next(name=name, index=index, value=value):
                head = f"next {name.name}"
                if index is not None:
                    head += f"[{self.expr(index, indent + len(head) + 1, indent)}]"
                return self.cells(indent, [head], "=", value)
            case ast.Until(condition=condition):
                return "until " + self.expr(condition, indent + 6, indent)
            case ast.Arm(patterns=patterns, value=value):
                return self.cells(indent, [patterns_text(patterns)], "=>", value)
            case ast.Ident(name=name):
                return str(name)
            case _Body(value=value):
                text = self.expr(value, indent, indent)
                # A line that starts with a sign would continue the `let` before.
                return f"({text})" if follows and text[0] in "+-" else text
            case ast.Sources() | ast.Assume():
                return self.basis(node, indent, indent)
            case ast.Allow(path=path, reason=reason):
                return f"allow {path_text(path)} {literal(reason)}"
            case ast.Amend(path=path, members=members):
                return self.headed(node, path_text(path), members, indent)
            case ast.Part():
                return self.part(node, indent)
            case ast.Rule():
                return self.rule(node, indent)
            case ast.Fn():
                return self.fn(node, indent)
            case ast.ExternFn():
                return f"extern {self.fn_head(node, indent + len('extern '), indent)}"
            case _:
                return self.question(node, indent)

    def question(self, node: Any, indent: int) -> str | list[str]:
        """Write the members of evaluators and claims."""
        match node:
            case ast.Param(name=name, type=kind, default=default, range=bounds):
                head = [f"param {name.name}", f": {type_text(kind)}"]
                return self.values(
                    indent, head, ("=", default), ("in", bounds), ("~", _drawn(node.distribution))
                )
            case ast.Choice(name=name, type=kind, alternatives=among, default=default):
                head = [f"choice {name.name}", f": {type_text(kind)}"]
                return self.values(indent, head, ("in", among), ("=", default))
            case ast.Output(name=name, unit=unit, type=kind, value=value):
                head = [f"output {name.name}"]
                if unit is not None:
                    head.append(f"in {unit_text(unit)}")
                elif kind is not None:
                    head.append(f": {type_text(kind)}")
                return self.cells(indent, head, "=", value)
            case ast.Expect():
                return self.expect(node, indent)
            case _:
                return self.item(node, indent)

    def item(self, node: Any, indent: int) -> str | list[str]:
        """Write the items of a file that can stand nowhere else."""
        match node:
            case ast.Use():
                return self.use(node)
            case ast.Dimension(name=name):
                return f"dimension {name.name}"
            case ast.UnitDecl():
                return self.unit(node, indent)
            case ast.TypeAlias(name=name, type=kind):
                return [f"type {name.name}", f"= {type_text(kind)}"]
            case ast.Enum(name=name, cases=cases):
                return self.headed(node, f"enum {name.name}", cases, indent)
            case ast.Kind(name=name, base=base, members=members):
                head = f"kind {name.name}" + (f" : {path_text(base)}" if base else "")
                return f"{head} {self.block(node, members, indent)}"
            case ast.Evaluator(name=name, members=members):
                return f"evaluator {name.name} {self.block(node, members, indent)}"
            case ast.Claim(name=name, members=members):
                return f"claim {name.name} {self.block(node, members, indent)}"
            case ast.Display(form=form, name=name, settings=settings):
                return f"{form} {name.name} {self.block(node, settings, indent)}"
            case ast.Reference(name=name, kind=kind, year=year, title=title):
                return [f"reference {name.name}", f": {kind.name} {year} {literal(title)}"]
            case ast.Calibrated(name=name, type=kind, value=value, range=bounds):
                start = [f"calibrated {name.name}", f": {type_text(kind)}"]
                return _text(self.values(indent, start, ("=", value), ("in", bounds)))
            case _:
                raise TypeError(f"no statement: {type(node).__name__}")

    def cells(
        self, indent: int, head: list[str], sign: str, value: ast.FieldValue | None
    ) -> str | list[str]:
        """Write `head sign value`: as cells if it fits on a line, else as text."""
        if value is None:
            return head
        if isinstance(value, ast.Unknown):
            return [*head, f"{sign} unknown {literal(value.reason)}"]
        start = " ".join(head) + f" {sign} "
        text = self.expr(value, indent + len(start), indent)
        return start + text if "\n" in text else [*head, f"{sign} {text}"]

    def values(
        self, indent: int, head: list[str], *signed: tuple[str, ast.Expr | None]
    ) -> str | list[str]:
        """Write `head sign value sign value …`, any of which may be left out."""
        row: str | list[str] = head
        skipped: list[str] = []
        for i, (sign, value) in enumerate(signed):
            if value is None:
                skipped.append("")
                continue
            start = row if isinstance(row, str) else " ".join(row)
            column = indent + len(start) if "\n" not in start else len(start.rsplit("\n", 1)[-1])
            behind = self.short(signed[i + 1 :])
            text = self.expr(value, column + len(sign) + 2 + behind, indent)
            wide = "\n" in text or column + len(f" {sign} {text}") > WIDTH
            flat = self.flat(value) if i and wide and indent >= 0 else None
            if flat is not None and indent + STEP + len(sign) + 1 + len(flat) + behind <= WIDTH:
                row = f"{start}\n{' ' * (indent + STEP)}{sign} {flat}"  # whole on its own line
            elif isinstance(row, str) or "\n" in text:
                row = f"{start} {sign} {text}"
            else:
                row = [*row, *skipped, f"{sign} {text}"]
            skipped = []
        return row

    def short(self, signed: Sequence[tuple[str, ast.Expr | None]]) -> int:
        """Return the room that values need behind another; none if they are better broken."""
        room = 0
        for sign, value in signed:
            text = "" if value is None else self.flat(value)
            if text is None:
                return 0
            room += len(f" {sign} {text}") if text else 0
        return room if room <= WIDTH // 3 else 0

    def headed(self, node: ast.Node, head: str, members: Sequence[ast.Node], indent: int) -> str:
        """Write a head and its block, on one line if it was and fits."""
        flat = self.one_line(node, members)
        if flat is not None and indent + len(head) + 1 + len(flat) <= WIDTH:
            return f"{head} {flat}"
        if indent < 0:  # asked for one line only
            return "\n"
        return f"{head} {self.block(node, members, indent)}"

    def part(self, node: ast.Part, indent: int) -> str | list[str]:
        """Write a component or part."""
        count = ""
        if node.count is not None:
            count = f"[{self.expr(node.count, indent + 20, indent)}]"
        head = f"{node.kind.name} {node.name.name}{count}"
        base = f": {path_text(node.base)}" if node.base is not None else ""
        if not node.members and not self.commented(node):
            return [head, base]
        whole = f"{head} {base}".rstrip()
        text = self.headed(node, whole, node.members, indent)
        if "\n" in text or not base:
            return text
        return [head, text[len(head) + 1 :]]

    def rule(self, node: ast.Rule, indent: int) -> str:
        """Write a rule, its message and its help on lines of their own."""
        head = f"{'warn' if node.warns else 'require'} {node.name.name}: "
        lines = [head + self.expr(node.condition, indent + len(head), indent)]
        pad = " " * (indent + STEP)
        if node.message is not None:
            lines.append(f"{pad}else {self.template(node.message)}")
        if node.help is not None:
            lines.append(f"{pad}help {self.template(node.help)}")
        return "\n".join(lines)

    def template(self, node: ast.Template) -> str:
        """Write a message."""
        out = []
        for part in node.parts:
            if isinstance(part, str):
                out.append(escape(part).replace("{", "{{").replace("}", "}}"))
            else:
                unit = f" in {unit_text(part.unit)}" if part.unit is not None else ""
                out.append(f"{{{self.flat(part.value)}{unit}}}")
        return f'"{"".join(out)}"'

    def fn(self, node: ast.Fn, indent: int) -> str:
        """Write a function: after `=` if it is one expression that fits on the line."""
        line = self.fn_head(node, indent, indent)
        if not node.lets and not self.has_comment(node.span.start, node.span.end):
            last = len(line.rsplit("\n", 1)[-1]) + indent + 3
            body = self.flat(node.body)
            if body is not None and last + len(body) <= WIDTH:
                return f"{line} = {body}"
        return f"{line} {self.block(node, [*node.lets, _Body(node.body.span, node.body)], indent)}"

    def fn_head(self, node: ast.Fn | ast.ExternFn, column: int, indent: int) -> str:
        """Write a function up to its result, `column` being where `fn` stands."""
        dims = f"[{', '.join(d.name for d in node.dim_vars)}]" if node.dim_vars else ""
        head = f"fn {node.name.name}{dims}("
        parameters = [self.parameter(p, indent + STEP) for p in node.parameters]
        result = f") -> {type_text(node.result)}"
        line = f"{head}{', '.join(parameters)}{result}"
        if "\n" in line or column + len(line) + 2 > WIDTH:
            pad = " " * (indent + STEP)
            rows = "".join(f"{pad}{p},\n" for p in parameters)
            line = f"{head}\n{rows}{' ' * indent}{result}"
        return line

    def parameter(self, node: ast.Parameter, indent: int) -> str:
        """Write a function's parameter."""
        head = f"{'known ' if node.known else ''}{node.name.name}: {type_text(node.type)}"
        if node.default is None:
            return head
        return f"{head} = {self.expr(node.default, indent + len(head) + 3, indent)}"

    def expect(self, node: ast.Expect, indent: int) -> str:
        """Write an expectation."""
        head = f"{node.status} expect " if node.status else "expect "
        text = head + self.expr(node.condition, indent + len(head), indent)
        if node.tolerance is not None:
            text = self.tail(text, self.within(node, node.tolerance, indent), indent)
        if node.baseline is not None:
            baseline = self.expr(node.baseline, indent + STEP + len("baseline "), indent + STEP)
            text = self.tail(text, f"baseline {baseline}", indent)
        if node.missed is None:
            return text
        return self.tail(text, f"missed {literal(node.missed)}", indent)

    def within(self, node: ast.Expect, tolerance: ast.Expr, indent: int) -> str:
        """Write a tolerance."""
        word = "factor " if node.mode == "factor" else ""
        within = f"within {word}{self.expr(tolerance, indent + 20, indent)}"
        return f"{within} {node.mode}" if node.mode in ("relative", "absolute") else within

    def tail(self, text: str, end: str, indent: int) -> str:
        """Write `end` behind `text`, or on a line of its own where it does not fit."""
        last = text.rsplit("\n", 1)[-1]
        if len(last) + len(end) + indent + 1 <= WIDTH:
            return f"{text} {end}"
        return f"{text}\n{' ' * (indent + STEP)}{end}"

    def use(self, node: ast.Use) -> str:
        """Write an import, its names wrapped."""
        head = f"use {path_text(node.path) if node.file is None else literal(node.file)}"
        if node.alias is not None:
            head += f" as {node.alias.name}"
        return head if node.names is None else _wrapped(f"{head}:", node.names)

    def unit(self, node: ast.UnitDecl, indent: int) -> str | list[str]:
        """Write a unit."""
        if node.type is not None:
            row: str | list[str] = [f"unit {node.name.name}", f": {type_text(node.type)}"]
        else:
            row = self.cells(indent, [f"unit {node.name.name}"], "=", node.value)
        tail = ""
        if node.offset is not None:
            tail += f" offset {self.expr(node.offset, indent + 20, indent)}"
        if node.prefixes:
            line = " ".join(row) if isinstance(row, list) else row
            return _wrapped(f"{line}{tail} prefix", node.prefixes)
        if isinstance(row, str):
            return row + tail
        return [*row[:-1], row[-1] + tail]


class _Body(ast.Node, frozen=True):
    """A function's last expression, as the statement it is in the block."""

    value: ast.Expr


def _text(written: str | list[str]) -> str:
    """Return a statement's text, its cells with a blank between them."""
    return written if isinstance(written, str) else " ".join(c for c in written if c)


def _drawn(node: ast.Expr | None) -> ast.Expr | None:
    """Return a distribution as it is written: without its first argument."""
    if isinstance(node, ast.Call):
        return replace(node, arguments=node.arguments[1:])
    return node


def _citation(node: ast.Citation) -> str:
    """Write one source: its reference or itself, the place in it and how sure it is."""
    words = [node.reference.name] if node.reference is not None else []
    words += [literal(node.text)] if node.text is not None else []
    words += [f"confidence {node.confidence.name}"] if node.confidence is not None else []
    return " ".join(words)


def _wrapped(head: str, names: Sequence[ast.Ident]) -> str:
    """Write names behind a head, going to a new line after a comma where the line is full."""
    lines = [head]
    for i, name in enumerate(names):
        word = name.name + ("," if i + 1 < len(names) else "")
        if len(lines[-1]) + 1 + len(word) > WIDTH and lines[-1] != head:
            lines.append(" " * STEP + word)
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines)
