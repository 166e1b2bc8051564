"""Sound graphs pass the verifier; each way of breaking one is refused by name."""

import attrs
import pytest
from hypothesis import given, settings
from strategies import graphs

from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import BOOL, INT, REAL, GraphParam, Op
from hwdsl.codegen.ir.verifier import GraphError, verify_graph


@settings(deadline=None, max_examples=150)
@given(graphs())
def test_what_the_builder_makes_is_sound(graph):
    verify_graph(graph)


def sound():
    b = GraphBuilder()
    x, n = b.param("x"), b.param("n", INT)
    body = b.open_loop([REAL], [x, n])
    following = b.op("mul", b.op("add", body.states[0], x), body.variable)
    stop = b.op("lt", b.const(9), body.states[0])
    made = body.close(b.const(1, INT), n, 8, [x], [following], stop)
    y = b.op("table", n, index=b.table([1, 2]))
    z = b.op("bucket", x, index=b.table([1, 2, 4]))
    outputs = [("a", made[0]), ("y", y), ("z", z), ("s", b.op("select", made[2], x, y))]
    return b.finish(outputs, [("ok", b.op("lt", x, y))])


def find(ops, code):
    return next(i for i, op in enumerate(ops) if op.code == code)


def with_op(graph, which, **changes):
    i = find(graph.ops, which)
    op = attrs.evolve(graph.ops[i], **changes)
    return attrs.evolve(graph, ops=(*graph.ops[:i], op, *graph.ops[i + 1 :]))


def with_body(graph, **changes):
    body = graph.ops[find(graph.ops, "loop")].body
    return with_op(graph, "loop", body=attrs.evolve(body, **changes))


def with_inner(graph, which, **changes):
    ops = graph.ops[find(graph.ops, "loop")].body.ops
    i = find(ops, which)
    return with_body(graph, ops=(*ops[:i], attrs.evolve(ops[i], **changes), *ops[i + 1 :]))


def loop_args(graph):
    return graph.ops[find(graph.ops, "loop")].args


REAL_ARG = 0  # x
CORRUPTIONS = {
    "not an earlier": lambda g: with_op(g, "lt", args=(0, 99)),
    "argument -1": lambda g: with_op(g, "lt", args=(0, -1)),
    "takes 2 arguments": lambda g: with_op(g, "lt", args=(0,)),
    "takes 3 arguments": lambda g: with_op(g, "select", args=(0, 0)),
    "takes 1 argument,": lambda g: with_op(g, "table", args=(1, 1)),
    "no such code": lambda g: with_op(g, "lt", code="frob"),
    "no type": lambda g: with_op(g, "lt", type="text"),
    "cannot be bool": lambda g: with_op(g, "select", type=BOOL),
    "cannot be int": lambda g: with_op(g, "select", type=INT),
    "select.: needs bools": lambda g: with_op(g, "select", args=(0, 0, 0)),
    "needs an int": lambda g: with_op(g, "table", args=(REAL_ARG,)),
    "table 7 does not": lambda g: with_op(g, "table", index=7),
    "is empty": lambda g: attrs.evolve(g, tables=((), g.tables[1])),
    "does not increase": lambda g: attrs.evolve(g, tables=(g.tables[0], (1.0, 1.0))),
    "param 5 does not": lambda g: with_op(g, "param", index=5),
    "but is given": lambda g: with_op(g, "param", type=INT),
    "has no place": lambda g: with_op(g, "param", code="input"),
    "two are named x": lambda g: attrs.evolve(g, params=(GraphParam("x"), GraphParam("x", INT))),
    "is no name": lambda g: attrs.evolve(g, params=(GraphParam("x\n"), g.params[1])),
    "param n: no type": lambda g: attrs.evolve(g, params=(g.params[0], GraphParam("n", "str"))),
    "two are named a": lambda g: attrs.evolve(g, outputs=(("a", 0), ("a", 0))),
    "output a: operation 99": lambda g: attrs.evolve(g, outputs=(("a", 99),)),
    "its results need": lambda g: attrs.evolve(g, outputs=(("a", find(g.ops, "loop")),)),
    "two are named r": lambda g: attrs.evolve(g, rules=(("r", g.rules[0][1]),) * 2),
    "rule r: is real": lambda g: attrs.evolve(g, rules=(("r", 0),)),
    "has no body": lambda g: with_op(g, "loop", body=None),
    "is negative": lambda g: with_op(g, "loop", bound=-1),
    "negative number": lambda g: with_body(g, carries=-1, next=()),
    "one next per state": lambda g: with_body(g, next=()),
    "too few arguments": lambda g: with_op(g, "loop", args=loop_args(g)[:2]),
    "ends must be ints": lambda g: with_op(g, "loop", args=(0, *loop_args(g)[1:])),
    "next 0: operation 99": lambda g: with_body(g, next=(99,)),
    "until: is": lambda g: with_body(g, until=0),
    "until: operation 99": lambda g: with_body(g, until=99),
    "input 9 does not": lambda g: with_inner(g, "input", index=9),
    "no result 8": lambda g: with_op(g, "proj", index=8),
    "is no loop": lambda g: with_op(g, "proj", args=(0,)),
    "argument 99": lambda g: with_inner(g, "mul", args=(0, 99)),
    "a loop": lambda g: with_op(g, "lt", args=(0, find(g.ops, "loop"))),
    "takes no arguments": lambda g: attrs.evolve(g, ops=(*g.ops, Op("const", (0,)))),
    "needs bools": lambda g: attrs.evolve(g, ops=(*g.ops, Op("and", (0, 0), BOOL))),
    "at least 1 argument,": lambda g: attrs.evolve(g, ops=(*g.ops, Op("sum", ()))),
    "at least 2 arguments,": lambda g: attrs.evolve(g, ops=(*g.ops, Op("gather", (1,)))),
    "is no loop$": lambda g: with_op(g, "lt", bound=3),
}  # fmt: skip


def test_the_uncorrupted_graph_is_sound():
    verify_graph(sound())


@pytest.mark.parametrize("message", CORRUPTIONS)
def test_each_corruption_is_refused(message):
    with pytest.raises(GraphError, match=message):
        verify_graph(CORRUPTIONS[message](sound()))
