"""What a failed call proves. Every error of a client is a CallError."""

from __future__ import annotations


class CallError(Exception):
    """A call that failed. Its subclasses say whether the function ran."""

    def __init__(self, function: str, text: str) -> None:
        super().__init__(f"{function}: {text}")
        self.function = function


class ArgumentError(CallError, ValueError):
    """One or more arguments are out of bounds. Nothing was written."""

    def __init__(self, function: str, problems: list[str]) -> None:
        super().__init__(function, "; ".join(problems))
        self.problems = problems


class StateError(CallError):
    """A key holds content that the function cannot read. Nothing was written. Delete the key to reset it."""

    def __init__(self, function: str, key: str, problem: str) -> None:
        start, brace, rest = key.partition("{")
        shown = start + "{...}" + rest.rpartition("}")[2] if brace else key
        super().__init__(function, f"key {shown}: {problem}; delete the key to reset it")
        self.key = key
        self.problem = problem


class CodeError(CallError):
    """An error that the function declares in its header."""

    def __init__(self, function: str, code: str, text: str) -> None:
        super().__init__(function, f"{code} {text}".strip())
        self.code = code
        self.text = text


class NotRunError(CallError):
    """The function did not run, or it is read-only. You may call it again."""

    def __init__(self, function: str, text: str, code: str = "") -> None:
        super().__init__(function, f"nothing written: {text}")
        self.code = code


class NotLoadedError(NotRunError):
    """The server lacks the library or this function of it, and auto-load did not help."""


class OutcomeUnknownError(CallError):
    """The function may have run. Calling it again may charge twice."""

    def __init__(self, function: str, text: str, code: str = "") -> None:
        super().__init__(function, f"outcome unknown, it may have run: {text}")
        self.code = code


class ReplyError(CallError):
    """The function ran, but its reply does not follow the header."""
