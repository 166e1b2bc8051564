"""The syntax tree: what a .hw file says, before anything is known about what it means.

All nodes are frozen, compare by identity (so that tables may be keyed by node), hold children as
tuples and carry the span they came from. `doc` is the text of the `##` comments before a node.
"""

# ruff: noqa: F403  # this module is the names of three files, which depend on each other in order

from hwdsl.syntax.ast_base import *
from hwdsl.syntax.ast_expr import *
from hwdsl.syntax.ast_items import *
