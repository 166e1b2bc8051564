"""Operators of `studies.eager_gradients` against automatic differentiation, done here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import hwdsl

LAYERS, INPUTS, CHANNELS = 4, 2, 3
LIBRARY = Path(__file__).parents[2] / "library" / "studies"


class Graph:
    """Operators of a network and of its derivatives; each is a name, its inputs and its weights."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, tuple[int, ...], str]] = []
        self.varies: list[bool] = []

    def add(self, name: str, *inputs: int, weights: str = "") -> int:
        self.nodes.append((name, inputs, weights))
        self.varies.append(name == "point" or any(self.varies[i] for i in inputs))
        return len(self.nodes) - 1

    def network(self) -> tuple[int, list[int]]:
        """The point, and each channel of the outputs."""
        at = point = self.add("point")
        for layer in range(LAYERS):
            at = self.add("add", self.add("product", at, weights=f"{layer}"))
            at = self.add("sine", self.add("scale", at))
        outputs = self.add("add", self.add("product", at, weights=f"{LAYERS}"))
        return point, [self.add("select", outputs) for _ in range(CHANNELS)]

    def gradient(self, of: int, point: int) -> list[int]:
        """The derivatives of an output with respect to each coordinate of the point."""
        grad = {of: self.add("one")}
        for i in range(of, point, -1):
            if i not in grad:
                continue
            name, inputs, weights = self.nodes[i]
            for k, at in enumerate(inputs):
                if not self.varies[at]:
                    continue
                if name == "product":
                    turned = weights.removesuffix("T") if weights.endswith("T") else weights + "T"
                    new = self.add("product", grad[i], weights=turned)
                elif name == "multiply":
                    new = self.add("multiply", grad[i], inputs[1 - k])
                elif name in ("sine", "cosine"):
                    other = self.add("cosine" if name == "sine" else "sine", at)
                    if name == "cosine":
                        other = self.add("negate", other)
                    new = self.add("multiply", grad[i], other)
                elif name == "select":
                    new = self.add("spread", grad[i])
                elif name in ("scale", "negate"):
                    new = self.add(name, grad[i])
                else:
                    new = grad[i]
                grad[at] = self.add("add", grad[at], new) if at in grad else new
        return [self.add("select", grad[point]) for _ in range(INPUTS)]

    def is_hidden(self, at: int) -> bool:
        """Whether a result has the width of the hidden layers."""
        name, inputs, weights = self.nodes[at]
        if name == "product":
            return weights not in (f"{LAYERS}", "0T")
        return name not in ("point", "one", "spread", "select") and self.is_hidden(inputs[0])

    def above(self, outputs: list[int]) -> set[int]:
        seen: set[int] = set()
        todo = list(outputs)
        while todo:
            if (at := todo.pop()) not in seen:
                seen.add(at)
                todo += self.nodes[at][1]
        return seen


def derivatives(order: int) -> tuple[Graph, set[int]]:
    """The graph of all derivatives up to an order, and the operators above its outputs."""
    graph = Graph()
    point, newest = graph.network()
    outputs = list(newest)
    for _ in range(order):
        newest = [g for of in newest for g in graph.gradient(of, point)]
        outputs += newest
    return graph, graph.above(outputs)


HIDDEN = [f"{k}{t}" for k in range(1, LAYERS) for t in ("", "T")]
"""Weights of the products of the hidden width with itself."""


def counts(order: int) -> dict[str, int]:
    """Operators of all derivatives up to an order, by the fields of `gradient_operators`."""
    graph, here = derivatives(order)
    name = Counter(graph.nodes[i][0] for i in here)
    weights = Counter(graph.nodes[i][2] for i in here if graph.nodes[i][0] == "product")
    # What is differentiated again must keep the inputs of all that is not linear in them.
    keeping = ("product", "multiply", "sine", "cosine")
    kept = {i for at in here if graph.nodes[at][0] in keeping for i in graph.nodes[at][1]}
    return {
        "hidden_products": sum(weights[w] for w in HIDDEN),
        "input_products": weights["0"],
        "output_products": weights[f"{LAYERS}T"],
        "point_products": weights["0T"],
        "multiplications": name["multiply"] + name["scale"],
        "sines": name["sine"] + name["cosine"],
        "sums": name["add"] + name["negate"],
        "kept": sum(graph.is_hidden(i) for i in kept),
    }


@pytest.mark.parametrize("order", [0, 1, 2])
def test_operators_of_an_order_are_those_of_automatic_differentiation(
    order: int, tmp_path: Path
) -> None:
    path = tmp_path / "count.hw"
    fields = counts(order)
    outputs = "\n".join(f"output {f} = operators_of_order[order].{f}" for f in fields)
    path.write_text(f"""edition 2026
use studies.eager_gradients: operators_of_order
evaluator operators {{
    choice order : int in [0, 1, 2] = 0
    {outputs}
}}
""")
    got = hwdsl.load(path).operators(order=order)
    assert {f: getattr(got, f) for f in fields} == fields


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_longest_way_has_six_hidden_products_whatever_the_order(order: int) -> None:
    graph, here = derivatives(order)
    depth = [0] * len(graph.nodes)
    for i, (_, inputs, weights) in enumerate(graph.nodes):
        depth[i] = max((depth[k] for k in inputs), default=0) + (weights in HIDDEN)
    assert max(depth[i] for i in here) == 2 * (LAYERS - 1)
