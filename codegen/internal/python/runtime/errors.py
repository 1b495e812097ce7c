"""What a failed call proves. Every error of a client is a CallError."""


class CallError(Exception):
    """A call that failed. Its subclasses say whether the function ran."""

    def __init__(self, function: str, text: str, code: str = "") -> None:
        super().__init__(f"{function}: {text}")
        self.function = function
        self.text = text
        self.code = code  # the first word of the server's error, if there was one


class ArgumentError(CallError, ValueError):
    """An argument is out of bounds. Nothing was written."""


class StateError(CallError):
    """A key holds content that the function cannot read. Nothing was written. Delete the key to reset it."""

    def __init__(self, function: str, key: str, problem: str) -> None:
        start, brace, rest = key.partition("{")
        shown = f"{start}{{...}}{rest.rpartition('}')[2]}" if brace else key
        super().__init__(function, f"key {shown}: {problem}; delete the key to reset it", "RLSTATE")
        self.key = key


class CodeError(CallError):
    """An error that the function declares in its header."""


class NotRunError(CallError):
    """The function did not run, or it is read-only. You may call it again."""

    def __init__(self, function: str, text: str, code: str = "") -> None:
        super().__init__(function, f"nothing written: {text}", code)


class NoPermissionError(NotRunError):
    """The Redis user may not make this call. `rlfunc acl service` prints what it needs."""


class NotLoadedError(NotRunError):
    """The server lacks the library or this function of it, and auto-load did not help."""


class OutcomeUnknownError(CallError):
    """The function may have run. Calling it again may charge twice."""

    def __init__(self, function: str, text: str, code: str = "") -> None:
        super().__init__(function, f"outcome unknown, it may have run: {text}", code)


class ReplyError(CallError):
    """The function ran, but its reply does not follow the header."""
