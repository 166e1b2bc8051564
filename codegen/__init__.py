"""The graph and everything below it: passes, interpreter, emitter, build and cache.

Nothing here knows the language: `hwdsl.codegen` imports nothing of the rest of `hwdsl`.
"""
