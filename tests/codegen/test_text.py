"""Graphs as bytes are exact, stable and checked; the text form tells all that they hold."""

import math
import subprocess
import sys

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs

from hwdsl.base.structuring import packed
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import Graph, GraphParam, Op
from hwdsl.codegen.ir.serialization import decode, dump, encode
from hwdsl.codegen.ir.verifier import GraphError


@settings(deadline=None, max_examples=200)
@given(graphs())
def test_decode_undoes_encode(graph):
    again = decode(encode(graph))
    # Tables are compared by their text: a NaN in one equals no other.
    assert attrs.evolve(again, tables=()) == attrs.evolve(graph, tables=())
    assert dump(again) == dump(graph)
    assert encode(again) == encode(graph)


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1))
def test_any_name_survives(name):
    b = GraphBuilder()
    graph = b.finish([(name, b.param(name))], [(name, b.const(1.0, "bool"))])
    assert decode(encode(graph)) == graph


def constant(value):
    b = GraphBuilder()
    return b.finish([("y", b.const(value))])


def test_zeros_differ_and_nans_do_not():
    assert encode(constant(0.0)) != encode(constant(-0.0))
    assert encode(constant(math.nan)) == encode(constant(-math.nan))
    assert constant(math.nan) == constant(-math.nan)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 5e-324, -0.0, 0.1, 1.7976931348623157e308])
def test_constants_are_exact(value):
    again = decode(encode(constant(value))).ops[0].value
    assert again == value
    assert math.copysign(1, again) == math.copysign(1, value)


def looping(factor=2.0, table=(1.0, 2.0)):
    b = GraphBuilder()
    x = b.param("x", uniform=True)
    body = b.open_loop(["real"], [x])
    following = b.op("mul", b.op("add", body.states[0], x), b.const(factor))
    row = b.op("table", body.variable, index=b.table(table))
    made = body.close(b.const(1, "int"), b.const(5, "int"), 5, [x], [b.op("sub", following, row)])
    return b.finish([("y", made[0])])


def test_canonical_sees_bodies_and_tables():
    seen = {
        encode(looping()),
        encode(looping(3.0)),
        encode(looping(table=(1.0, 3.0))),
    }
    assert len(seen) == 3
    assert encode(looping()) == encode(looping())


def test_canonical_is_the_same_in_another_run(tmp_path):
    code = (
        "from hwdsl.codegen.ir.builder import GraphBuilder;"
        "from hwdsl.codegen.ir.serialization import encode;"
        "b = GraphBuilder(); x = b.param('x');"
        "g = b.finish([('y', b.op('sum', x, b.op('exp', x), b.const(0.1)))]);"
        "print(encode(g).hex())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True,
            env={"PYTHONHASHSEED": seed}, cwd=tmp_path,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"params": (GraphParam("x", "text"),)}, "no type 'text'"),
        ({"params": (GraphParam("\n"),)}, "is no name"),
        ({"ops": (Op("param", index=-1),)}, "param -1 does not exist"),
        ({"ops": (Op("add", (0, 7)),)}, "is not an earlier operation"),
        ({"tables": ((2.0, 1.0), "none")}, "no graph: .*tables"),
        ({"outputs": (("y", 99),)}, "operation 99 does not exist"),
        ({"rules": 3}, "no graph: .*rules"),
    ],
)
def test_what_is_no_graph_is_refused(change, message):
    with pytest.raises(GraphError, match=message):
        decode(packed(attrs.evolve(looping(), **change)))


def test_bytes_that_end_early_are_refused_everywhere():
    whole = encode(looping())
    for end in range(len(whole)):
        with pytest.raises(GraphError):
            decode(whole[:end])


@given(st.binary())
def test_random_bytes_never_raise_anything_else(data):
    with pytest.raises(GraphError):
        decode(data)


@given(st.data())
def test_a_changed_byte_is_a_graph_or_refused(data):
    whole = bytearray(encode(looping()))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert isinstance(decode(bytes(whole)), Graph)
    except GraphError:
        return


def test_the_text_tells_graphs_apart():
    assert len({dump(g) for g in (looping(), looping(3.0), looping(table=(1.0, 3.0)))}) == 3
    assert dump(constant(0.0)) != dump(constant(-0.0))
