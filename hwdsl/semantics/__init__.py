"""Modules, scopes and static checks: what names mean and whether types and dimensions agree."""
