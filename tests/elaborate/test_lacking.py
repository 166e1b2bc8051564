"""What an evaluator lacks: every value once, all of them at once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from .helper import elaborated

FIELDS = 6
READS = st.lists(st.integers(0, FIELDS - 1), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(
    unknown=st.sets(st.integers(0, FIELDS - 1), min_size=1),
    lets=st.lists(READS, min_size=1, max_size=4),
    outputs=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), min_size=1, max_size=3),
)
def test_all_that_is_read_and_unknown_is_told_once(
    unknown: set[int], lets: list[list[int]], outputs: list[list[int]]
) -> None:
    fields = [
        f"    f{i} : real = {f'unknown {chr(34)}no {i}{chr(34)}' if i in unknown else i}\n"
        for i in range(FIELDS)
    ]
    variables = [f"    let v{k} = {' + '.join(f'f{i}' for i in r)}\n" for k, r in enumerate(lets)]
    asked = [[k % len(lets) for k in reads] for reads in outputs]
    text = f"kind k {{\n{''.join(fields)}{''.join(variables)}}}\nk c {{ }}\nevaluator e {{\n"
    for j, reads in enumerate(asked):
        text += f"    output o{j} = {' + '.join(f'c.v{k}' for k in reads)}\n"
    _, found = elaborated(text + "}\n")
    read = {i for reads in asked for k in reads for i in lets[k]}
    told = [d.missing for d in found.items if d.missing]
    assert sorted(told) == sorted(f"c.f{i}" for i in read & unknown)
    for item in (d for d in found.items if d.missing):
        i = int(item.missing[3:])
        # A formula that adds a field twice reads it in two places, of which the first one is met.
        places = len({k for reads in asked for k in reads if i in lets[k]})
        assert item.reading.text in ("", *(f"read in {n} places" for n in range(2, places + 1)))


PARTS = """
kind memory {
    price : money  = unknown "no public price"
    life  : time   = unknown "not tested"
    width : length = unknown "not measured"
    vendor : maker = unknown "not said"
}
enum maker { one, two }
memory m { }
kind board {
    memory ram : m
    spare : money = unknown "not said"
    let cost = if known(spare) then ram.price + spare else ram.price
    let rate = (if ram.vendor == one then 2 else 1) * cost / ram.life
    require narrow: ram.width <= 3 m
}
board b { }
"""


def test_chains_are_followed_as_if_each_value_was_given() -> None:
    text = "evaluator e {\n output a in USD = b.cost\n output r in USD/s = b.rate\n}"
    _, found = elaborated(PARTS + text)
    # Nobody asks for `spare` (its formula does without) nor for `width` (a rule waits).
    assert [d.missing for d in found.items] == ["b.ram.price", "b.ram.vendor"]
    # What is no number cannot be stood in for: what lies behind it is met when it is given.
    _, found = elaborated(PARTS.replace("memory m { }", "memory m { vendor = two }") + text)
    assert [d.missing for d in found.items] == ["b.ram.price", "b.ram.life"]
    assert [d.reading.text for d in found.items] == ["", ""]


def test_the_places_where_it_is_read_are_counted() -> None:
    text = "evaluator e {\n output a in USD = b.cost\n output c in USD = 2 * b.ram.price\n"
    _, found = elaborated(PARTS + text + " output d in USD = b.cost + 1 USD\n}")
    (item,) = found.items
    assert item.reading.text == "read in 2 places"
    assert item.reading.span.text == "ram.price"
    assert item.help == "give it a value: `b with { ram.price = … }`"


def test_one_value_given_by_a_path_is_not_given_elsewhere() -> None:
    text = "board c { }\nevaluator e {\n output a in USD = b.cost + c.cost\n}"
    _, found = elaborated(PARTS + text)
    assert [d.missing for d in found.items] == ["b.ram.price", "c.ram.price"]
