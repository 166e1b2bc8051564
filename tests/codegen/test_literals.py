"""What a compiled module is told of its evaluators stands in it as Python text, exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwdsl.codegen.build.literals import literal, module_text
from hwdsl.codegen.runtime import Message, OutputSpec, ParamSpec, Placeholder, RuleSpec, Scale, Spec


def written(*specs, **messages):
    """Specs and messages as a compiled module has them."""
    module = {"__package__": "hwdsl.codegen.runtime"}
    exec(module_text(specs, messages), module)
    return module


def again(spec):
    """A spec from a compiled module."""
    (found,) = written(spec)["SPECS"]
    return found


texts = st.text(max_size=6)
scales = st.builds(
    Scale, texts, st.sampled_from(["1", "1/3"]), dims=st.dictionaries(texts, st.floats())
)
holes = st.builds(
    Placeholder, st.integers(), st.lists(texts, max_size=2).map(tuple), st.booleans(),
    st.lists(st.tuples(st.floats(), scales), max_size=2).map(tuple),
)  # fmt: skip
said = st.builds(Message, st.integers(), st.lists(texts | holes, max_size=3).map(tuple))
params = st.builds(
    ParamSpec, texts, scale=scales, default=st.none() | st.floats(), low=st.floats(), doc=texts,
    labels=st.lists(texts, max_size=2).map(tuple),
    values=st.lists(st.floats(), max_size=2).map(tuple),
)  # fmt: skip


@given(
    st.lists(params, max_size=2),
    st.dictionaries(texts, scales, max_size=2),
    texts,
    st.dictionaries(texts, st.lists(st.lists(said, max_size=2), max_size=2), max_size=2),
)
def test_what_a_compiled_module_is_told_comes_back(params, units, doc, messages):  # fmt: skip
    spec = Spec(doc, tuple(params), (OutputSpec(doc, reads=("a",)),), (RuleSpec(doc),), units, doc)
    module = written(spec, **messages)
    # By `repr`, which tells the zeros apart and takes a NaN for itself.
    assert repr(module["SPECS"]) == repr([spec])
    assert repr(module["MESSAGES"]) == repr(messages)


def test_what_has_no_literal_is_a_bug():
    with pytest.raises(TypeError, match="a set has no literal"):
        literal([{1}])
