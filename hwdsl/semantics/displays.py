"""Figures and tables: settings that are names of an evaluator's params and outputs, or values."""

from __future__ import annotations

from collections.abc import Iterable

from hwdsl.semantics.evaluators import check_each
from hwdsl.semantics.expressions import infer, require
from hwdsl.semantics.generic_numbers import settle
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import EvaluatorInfo, Global, ModuleScope, Type
from hwdsl.semantics.type_errors import mismatch
from hwdsl.semantics.type_relations import INT, element_of, is_assignable
from hwdsl.syntax import ast

PARAMS = {"figure": ("x", "by"), "table": ("rows",)}
"""Settings that name params, by the form of the display."""
OUTPUTS = {"figure": ("y",), "table": ("outputs",)}
"""Settings that name outputs."""
GOALS = {"figure": (), "table": ("maximize", "minimize")}
"""Settings that name outputs which the rows shown are the best in."""
PICKS = {"figure": (), "table": ("top", "by")}
"""Settings that say how many of the best rows are shown, and for each value of which params."""
WORDS = {"figure": ("y_label", "labels"), "table": ()}
"""Settings that are texts: what is said along the vertical axis, and of each output."""
MEASURED = ("data", "measured", "output")
"""What a table of measurements must say."""
_OF_MEASUREMENTS = ("of", *MEASURED, "baseline", "label", "group")


def settings_of(node: ast.Display) -> dict[str, ast.Expr]:
    """The values of a display's settings by name."""
    values = ((a.path[-1].name, a.value) for a in node.settings)
    return {name: value for name, value in values if not isinstance(value, ast.Unknown)}


def own_settings(form: str) -> tuple[str, ...]:
    """The settings of a form that are no values of params; a param of such a name takes none."""
    return ("of", *PARAMS[form], *OUTPUTS[form], *GOALS[form], *PICKS[form], *WORDS[form], "points")


def is_measured(node: ast.Display) -> bool:
    """Whether it is a table of measured data; `data` in a figure is a param of that name."""
    return node.form == "table" and "data" in settings_of(node)


def texts_in(value: ast.Expr) -> tuple[str, ...] | None:
    """The texts of `"x"` or `["x", "y"]`; None for anything else."""
    items = value.items if isinstance(value, ast.ListLit) else (value,)
    found = tuple(item.value for item in items if isinstance(item, ast.Text))
    return found if len(found) == len(items) else None


def names_in(value: ast.Expr) -> list[ast.Name] | None:
    """The names of `x` or `[x, y]`; None for anything else."""
    items = value.items if isinstance(value, ast.ListLit) else (value,)
    found = [item for item in items if isinstance(item, ast.Name)]
    return found if len(found) == len(items) else None


def check_display(state: CheckerState, scope: ModuleScope, node: ast.Display) -> None:
    """Check what a figure or table names, and the types of the values that it gives to params."""
    settings = settings_of(node)
    info = _evaluator(state, scope, node, settings)
    if info is None:
        return
    if is_measured(node):
        _measured(state, info, node, settings)
        return
    form, own = node.form, own_settings(node.form)
    for needed in ("x", "y") if form == "figure" else ("rows",):
        if needed not in settings:
            _missing(state, node, needed)
    for name, value in settings.items():
        if name in PARAMS[form]:
            _check_names(state, info, name, value, list(info.free), "param", one=form == "figure")
        elif name == "by" and name in PICKS[form]:
            _check_names(state, info, name, value, list(info.free), "param", one=False)
        elif name in (*OUTPUTS[form], *GOALS[form]):
            _check_names(state, info, name, value, list(info.outputs), "output", one=False)
        elif name in WORDS[form]:
            _check_words(state, name, value, settings)
        elif name == "points" or name in PICKS[form]:
            require(state, TypeEnv(scope), value, INT, f"`{name}`")
        elif name in info.free:
            _check_values(state, TypeEnv(scope), name, value, info.free[name])
        elif name not in own:
            what = f"setting of a {form} of `{info.name}`:"
            _unknown(state, node, what, name, [*own, *info.free])
    goals = [g for s in GOALS[form] if s in settings for g in names_in(settings[s]) or ()]
    for name in PICKS[form]:
        if name in settings and len(goals) != 1:
            text = f"`{name}` goes with one output to maximize or to minimize"
            state.error("bad-display", text, settings[name].span)


def _evaluator(
    state: CheckerState, scope: ModuleScope, node: ast.Display, settings: dict[str, ast.Expr]
) -> EvaluatorInfo | None:
    """The evaluator of the file that a display is of, checked."""
    of = settings.get("of")
    if of is None:
        _missing(state, node, "of")
        return None
    symbol = scope.values.get(of.name) if isinstance(of, ast.Name) else None
    if not isinstance(symbol, EvaluatorInfo):
        known = [n for n, s in scope.values.items() if isinstance(s, EvaluatorInfo)]
        state.unknown("unknown-name", "evaluator", of.span.text, of.span, known)
        return None
    state.resolve(of, Global(symbol))
    state.force(symbol)
    return symbol


def _missing(state: CheckerState, node: ast.Display, setting: str) -> None:
    state.error(
        "missing-argument",
        f"the {node.form} `{node.name.name}` does not say `{setting}`",
        node.name.span,
        help=f"add `{setting} = …`",
    )


def _unknown(
    state: CheckerState, node: ast.Display, what: str, name: str, known: Iterable[str]
) -> None:
    where = next(a.path[-1].span for a in node.settings if a.path[-1].name == name)
    state.unknown("bad-display", what, name, where, known)


def _check_names(
    state: CheckerState,
    info: EvaluatorInfo,
    setting: str,
    value: ast.Expr,
    known: list[str],
    what: str,
    *,
    one: bool,
) -> None:
    """Check that a setting names params or outputs of the evaluator, each once."""
    names = names_in(value)
    if not names or (one and len(names) > 1):
        wanted = f"the name of {'an' if what[0] == 'o' else 'a'} {what}"
        state.error(
            "bad-display",
            f"`{setting}` is {wanted}" + ("" if one else ", or a list of such names"),
            value.span,
            help=f"`{info.name}` has {', '.join(f'`{n}`' for n in known) or 'none'}",
        )
        return
    seen: set[str] = set()
    for name in names:
        if name.name not in known:
            state.unknown("unknown-name", f"{what} of `{info.name}`:", name.name, name.span, known)
        elif name.name in seen:
            state.error("bad-display", f"`{name.name}` stands here twice", name.span)
        seen.add(name.name)


def _check_words(
    state: CheckerState, name: str, value: ast.Expr, settings: dict[str, ast.Expr]
) -> None:
    """Check `y_label = "…"`, and that `labels` has a text for each output of `y`."""
    texts = texts_in(value)
    if name == "y_label" and not isinstance(value, ast.Text):
        state.error("bad-display", "`y_label` is a text: what the vertical axis shows", value.span)
    elif name == "labels":
        outputs = names_in(settings["y"]) or () if "y" in settings else ()
        if texts is None or len(texts) != len(outputs):
            text = f"`labels` has a text for each output of `y`, of which there are {len(outputs)}"
            state.error("bad-display", text, value.span)


def _check_values(
    state: CheckerState, env: TypeEnv, name: str, value: ast.Expr, type_: Type
) -> None:
    """Check `x = v`, `x = [v, w]` and `x = low .. high`."""
    what = f"a value of `{name}`"
    if not check_each(state, env, value, type_, what):
        element = element_of(infer(state, env, value, type_))
        if not is_assignable(element, type_):
            mismatch(state, env, value, element, type_, what)
        else:
            settle(state, env, value, type_)


def _measured(
    state: CheckerState, info: EvaluatorInfo, node: ast.Display, settings: dict[str, ast.Expr]
) -> None:
    """Check the settings of a table of measurements: names of outputs, names of columns."""
    for needed in MEASURED:
        if needed not in settings:
            _missing(state, node, needed)
    for name, value in settings.items():
        if name in ("output", "baseline") and not isinstance(value, ast.Text):
            _check_names(state, info, name, value, list(info.outputs), "output", one=True)
        elif name not in _OF_MEASUREMENTS:
            _unknown(state, node, "setting of a table with `data`:", name, _OF_MEASUREMENTS)
        elif name == "data" and not isinstance(value, ast.Text):
            state.error("bad-display", "`data` is a text: the name of a file", value.span)
        elif not isinstance(value, ast.Text | ast.Name):
            state.error("bad-display", f"`{name}` is the name of a column", value.span)
