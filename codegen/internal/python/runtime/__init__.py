"""Typed clients of Redis Functions. Each module is one library."""

from ._client import Micros, Subject, Text
from .errors import ArgumentError, CallError, CodeError, NoPermissionError, NotLoadedError, NotRunError
from .errors import OutcomeUnknownError, ReplyError, StateError

__all__ = [
    "ArgumentError", "CallError", "CodeError", "Micros", "NoPermissionError", "NotLoadedError", "NotRunError",
    "OutcomeUnknownError", "ReplyError", "StateError", "Subject", "Text",
]
