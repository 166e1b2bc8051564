"""Modules, scopes and static checks: from trees to a program all of whose names have meaning."""

from hwdsl.semantics.checker import check
from hwdsl.semantics.modules import Modules, load

__all__ = ["Modules", "check", "load"]
