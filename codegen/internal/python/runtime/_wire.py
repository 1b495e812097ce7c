"""Keys, arguments, packed rows and replies, byte for byte as in the Go client."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Any, Callable, NewType, Sequence, TypeVar, Union

from .errors import ArgumentError, ReplyError

Subject = Union[str, bytes]
"""What a key belongs to: a user, an address. A str is sent as UTF-8. Any bytes are safe."""

Text = Union[str, bytes]
"""Bytes, or a str that is sent as UTF-8. Bytes that are not UTF-8 come back as lone surrogates (surrogateescape)."""

Micros = NewType("Micros", int)
"""Millionths of any currency."""

MAX_INT = 1 << 53
_GREATEST = sys.float_info.max
_MAX_ROWS = 1 << 16
_WIDE, _PAIR_SMALL, _PAIR_NUMBER = 1 << 20, 1 << 5, 1 << 23
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_BYTES_OR_STR = (str, bytes, bytearray, memoryview)  # sequences, too
_PLAIN = re.compile(rb"[A-Za-z0-9_.@+/=-]{1,64}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SIGNED = re.compile(rb"-?[1-9][0-9]{0,15}")
_DECIMAL = re.compile(rb"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
_NOT_PLAIN = re.compile(rb"[^A-Za-z0-9_.@+/=-]")


def to_bytes(text: Text) -> bytes:
    """Returns the bytes that are sent for a text."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)


def is_text(text: object) -> bool:
    """Reports whether to_bytes takes a value."""
    try:
        return isinstance(text, (bytes, bytearray, memoryview)) or isinstance(text, str) and to_bytes(text) is not None
    except UnicodeEncodeError:
        return False


def word(suffix: str | Enum) -> bytes:
    """Returns a suffix, which may be an enum or its value."""
    return str(suffix.value if isinstance(suffix, Enum) else suffix).encode()


def tag(subject: Subject) -> bytes:
    """Returns the hash tag of a subject's keys: the subject if it is plain, else ~ and 128 bits of its SHA-256."""
    raw = to_bytes(subject)
    if _PLAIN.fullmatch(raw):
        return raw
    return b"~" + hashlib.sha256(raw).hexdigest()[:32].encode()


def key(namespace: str, subject: Subject, suffix: str | Enum) -> bytes:
    """Returns `<namespace>:{<tag>}:<suffix>`."""
    return namespace.encode() + b":{" + tag(subject) + b"}:" + word(suffix)


def key_of(namespace: str, subject: Subject, suffix: str | Enum, name: Text | None) -> bytes:
    """Returns a key that ends in a name, `<namespace>:{<tag>}:<suffix>:<name>`, or in the suffix without one."""
    return key(namespace, subject, "") + _ended(suffix, name)


def _ended(suffix: str | Enum, name: Text | None) -> bytes:
    return word(suffix) + (b":" + tag(name) if name else b"")


def check_name(what: str, name: str) -> None:
    """Raises ValueError for a namespace that cannot begin a key, or a service's name that cannot be announced."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{what} must be 1 to 64 of the characters A-Z a-z 0-9 _ - . , got {repr(name)[:34]}")


E = TypeVar("E", bound=Enum)
T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """The encoding of one result: a digit of `values` values, text, a group of rows, or a number."""

    values: int = 0
    text: bool = False
    rows: tuple[Result, ...] | None = None


@dataclass(frozen=True)
class Function:
    """One function of a library, as it is called."""

    library: str
    name: str
    read_only: bool = False
    codes: tuple[str, ...] = ()
    omissible: int = 0
    results: tuple[Result, ...] = ()

    def __str__(self) -> str:
        return f"{self.library}.{self.name}"


class Pack:
    """Encoded rows of a packed group, for any number of calls. Keep it: the server decodes each pack once."""

    _group = ""
    _required = 0

    def __init__(self, rows: Sequence[Any]) -> None:
        a = Args(f"{type(self).__name__}()", "")
        encoded, self._suffixes = [], []
        for i, row in enumerate(rows):
            a.group, a.row, a.args = self._group, i, []
            self._cells(a, row)
            cells = a.args
            while len(cells) > self._required and cells[-1] == b"":
                cells.pop()
            encoded.append(b",".join(_NOT_PLAIN.sub(lambda m: b"%%%02x" % m[0][0], c) for c in cells) + b";")
            if not a.problems:
                self._suffixes.append([b"}:" + _ended(s, name) for s, name in self._keys(row)])
        a.check()
        self._rows = len(rows)
        self._given = tuple(rows)
        self._text = b"".join(encoded)

    def __len__(self) -> int:
        return self._rows

    def __bytes__(self) -> bytes:
        return self._text

    def _cells(self, a: Args, row: Any) -> None:
        raise NotImplementedError

    def _keys(self, row: Any) -> list[tuple[str | Enum, Text | None]]:
        return []


def rows_of(pack: Pack | None) -> tuple[Any, ...]:
    """Returns the rows that a pack was made of."""
    return () if pack is None else pack._given


def us(v: timedelta | datetime) -> int:
    """Returns the microseconds that are sent."""
    return (v - _EPOCH if isinstance(v, datetime) else v) // _MICROSECOND


def _cell(v: Any) -> Any:
    return to_bytes(v) if isinstance(v, _BYTES_OR_STR) else v


def same(one: Any, other: Any) -> bool:
    """Reports whether two values are sent as the same one."""
    return bool(_cell(one) == _cell(other))


def _number(least: int | None, most: int | None) -> str:
    if least is None and most is None:
        return "be a finite number"
    if least is None or most is None:
        return f"be a number at most {most}" if least is None else f"be a number at least {least}"
    return f"be a number from {least} to {most}"


class Args:
    """The keys and arguments of one call, in header order, and every argument that is out of bounds."""

    def __init__(self, function: Function | str, namespace: str) -> None:
        self.function = function
        self.namespace = namespace
        self.keys: list[bytes] = []
        self.args: list[bytes] = []
        self.problems: list[str] = []
        self.group = ""
        self.row = 0

    def reject(self, name: str, must: str, got: str = "") -> None:
        where = f"{self.group}.{self.row}.{name}".removesuffix(".") if self.group else name
        self.problems.append(f"{where} must {must}" + (f", got {got}" if got else ""))
        self.args.append(b"")

    def _bytes(self, name: str, text: Text | None, must: str) -> bytes | None:
        try:
            if isinstance(text, _BYTES_OR_STR):
                return to_bytes(text)
            self.reject(name, must, type(text).__name__)
        except UnicodeEncodeError:
            self.reject(name, "be text that UTF-8 can encode", "a lone surrogate")
        return None

    def _subject(self, name: str, subject: Subject) -> bytes | None:
        raw = self._bytes(name, subject, "be a str or bytes")
        if raw == b"":
            self.reject(name, "not be empty")
        return raw or None

    def key(self, name: str, subject: Subject, suffix: str) -> None:
        raw = self._subject(name, subject)
        if raw is not None:
            self.keys.append(key(self.namespace, raw, suffix))

    def subjects(self, name: str, subjects: Sequence[Subject], suffix: str, most: int) -> None:
        if isinstance(subjects, _BYTES_OR_STR):
            self.reject(name, "be a list of subjects", type(subjects).__name__)
            return
        if len(subjects) > most:
            self.reject(name, f"be at most {most} subjects", str(len(subjects)))
            return
        for subject in subjects:
            self.key(name, subject, suffix)

    def row_key(self, name: str, subject: Subject, suffix: str | Enum, value: Text | None) -> None:
        """Adds a key that ends in an argument or a field, which text() checks, or in the suffix without one."""
        raw = self._subject(name, subject)
        if raw is not None and (value is None or is_text(value)):
            self.keys.append(key_of(self.namespace, raw, suffix, value))

    def pack_keys(self, name: str, pack: Pack | None, subject: Subject, of: Sequence[Subject]) -> None:
        if isinstance(of, _BYTES_OR_STR):
            self.reject(f"{name}_of", "be a list of subjects", type(of).__name__)
            return
        rows = len(pack) if isinstance(pack, Pack) else 0  # else pack() rejects it
        if of and len(of) != rows:
            self.reject(f"{name}_of", f"have a subject for each of {rows} rows, or none", str(len(of)))
            return
        for i in range(rows):
            assert isinstance(pack, Pack)
            raw = self._subject(name + "_of" if of else name, of[i] if of else subject)
            if raw is not None:
                self.keys += [self.namespace.encode() + b":{" + tag(raw) + s for s in pack._suffixes[i]]

    def pack(self, name: str, pack: Pack | None, of: type[Pack], least: int, most: int) -> None:
        if pack is not None and not isinstance(pack, of):
            self.reject(name, f"be of {of.__name__}", type(pack).__name__)
            return
        rows = 0 if pack is None else len(pack)
        if not least <= rows <= most:
            self.reject(name, f"have {least} to {most} rows", str(rows))
            return
        self.args.append(b"" if pack is None else bytes(pack))

    def rows(self, name: str, n: int, least: int, most: int) -> None:
        if not least <= n <= most:
            self.reject(name, f"have {least} to {most} rows", str(n))
        else:
            self.args.append(b"%d" % n)
        self.group = name

    def items(self, name: str, items: Sequence[T], least: int, most: int) -> Sequence[T]:
        if isinstance(items, _BYTES_OR_STR):
            self.reject(name, "be a list", type(items).__name__)
            return ()
        self.rows(name, len(items), least, most)
        return items

    def integer(self, name: str, v: int | None, least: int, most: int, optional: bool = False) -> None:
        if v is None and optional:
            self.args.append(b"")
        elif type(v) is not int or not least <= v <= most:
            self.reject(name, f"be a whole number from {least} to {most}", repr(v)[:32])
        else:
            self.args.append(b"%d" % v)

    def decimal(self, name: str, v: float | None, least: int | None, most: int | None, optional: bool = False) -> None:
        if v is None and optional:
            self.args.append(b"")
            return
        low, high = -_GREATEST if least is None else least, _GREATEST if most is None else most
        if type(v) not in (int, float) or not low <= v <= high:  # type: ignore[operator]
            self.reject(name, _number(least, most), repr(v)[:32])
        else:
            self.args.append(repr(v + 0.0).encode())  # type: ignore[operator]

    def duration(self, name: str, v: timedelta | None, least: int, most: int, optional: bool = False) -> None:
        self._span(name, v, timedelta, lambda d: d // _MICROSECOND, "duration", least, most, optional)

    def time(self, name: str, v: datetime | None, least: int, most: int, optional: bool = False) -> None:
        if isinstance(v, datetime) and v.tzinfo is None:
            self.reject(name, "be a datetime with a time zone", "a naive one")
            return
        self._span(name, v, datetime, lambda t: (t - _EPOCH) // _MICROSECOND, "time", least, most, optional)

    def _span(self, name: str, v: Any, kind: type, us: Any, word: str, least: int, most: int, optional: bool) -> None:
        if v is None and optional:
            self.args.append(b"")
        elif not isinstance(v, kind):
            self.reject(name, f"be a {kind.__name__}", f"{type(v).__name__} {v!r}"[:34])
        elif not least <= us(v) <= most:
            self.reject(name, f"be a {word} from {least} to {most} microseconds", str(v))
        else:
            self.args.append(b"%d" % us(v))

    def flag(self, name: str, v: bool | None, optional: bool = False) -> None:
        self.args.append(b"1" if v else b"" if optional else b"0")

    def text(self, name: str, v: Text | None, least: int, most: int, optional: bool = False) -> None:
        if v is None and optional:
            self.args.append(b"")
            return
        must = f"be text of {least} to {most} bytes"
        raw = self._bytes(name, v, must)
        if raw is not None and not least <= len(raw) <= most:
            self.reject(name, must, f"{len(raw)} bytes")
        elif raw is not None:
            self.args.append(raw)

    def json(self, name: str, v: Any, least: int, most: int, optional: bool = False) -> None:
        if v is None and optional:
            self.args.append(b"")
            return
        try:
            raw = json.dumps(v, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError):
            self.reject(name, "be a value that JSON has", type(v).__name__)
            return
        self.text(name, raw, least, most)

    def enum(self, name: str, v: Enum | str | None, values: type[Enum], optional: bool = False) -> None:
        if v is None and optional:
            self.args.append(b"")
            return
        try:
            self.args.append(str(values(v).value).encode())
        except ValueError:
            self.reject(name, "be one of " + ", ".join(str(w.value) for w in values), repr(v)[:34])

    def must(self, text: str, row: str = "") -> None:
        """Rejects a call, or the row that begins the text, that breaks a rule of the header."""
        self.problems.append(row + text)

    def differ(self, text: str, rows: Sequence[tuple[Any, ...]], of: Sequence[Subject]) -> None:
        """Rejects rows of which two are alike and have one subject."""
        cells = [(*(_cell(v) for v in row), _cell(of[i]) if of else None) for i, row in enumerate(rows)]
        if len(set(cells)) < len(cells):
            self.problems.append(text)

    def check(self) -> None:
        if self.problems:
            raise ArgumentError(str(self.function), self.problems)

    def words(self) -> list[bytes]:
        """Returns the arguments that are sent: optional ones at the end are left out if they are omitted."""
        self.check()
        assert isinstance(self.function, Function)
        args, left = self.args, self.function.omissible
        while left > 0 and args and args[-1] == b"":
            args, left = args[:-1], left - 1
        return [b"%d" % len(self.keys), *self.keys, *args]


class Reply:
    """Reads a function's results in header order. docs/reference/wire.md describes them."""

    def __init__(self, function: Function, sent: Any) -> None:
        self.function = function
        self.ints: list[int] = []
        self.texts: list[bytes] = []
        self._decode(sent, function.results)
        self._next_int = iter(self.ints)
        self._next_text = iter(self.texts)

    def fail(self, field: str, must: str, got: Any) -> ReplyError:
        if isinstance(got, bytes):
            got = f"text of {len(got)} bytes"
        elif isinstance(got, Exception):
            got = f"the error {str(got)[:32]!r}"
        return ReplyError(str(self.function), f"{field} must {must}, got {got}; the server's library may differ from this client's")

    def _decode(self, sent: Any, results: tuple[Result, ...]) -> None:
        if isinstance(sent, int):
            alone = sent < 0 and any(r.rows is not None for r in results) and not any(r.text for r in results)
            sent = [1 + _above(results), sent] if alone else [sent]  # alone: the one row of a reply whose first result is 1
        elif not isinstance(sent, list):
            raise self.fail("the reply", "be an array or a whole number", "nothing" if sent is None else sent)
        self._sent = sent
        self._used = 0
        self._record(results)
        if len(sent) > self._used:
            raise self.fail("the reply", f"have at most {self._used} elements", len(sent))

    def _record(self, fields: tuple[Result, ...]) -> None:
        """Reads a record, and after it the rows of its groups."""
        place, above = self._used, _above(fields)
        self._used += 1
        groups = sum(r.rows is not None for r in fields)
        most = groups + sum(not r.values and not r.text and r.rows is None for r in fields)
        small = above // _WIDE if any(r.values == _WIDE for r in fields) else above
        n = self._number(place, -MAX_INT)
        listed, others = False, [0, 0]
        if n >= 0:
            others[0], n = n // above, n % above
        else:
            n, how = divmod(-1 - n, 4)
            if how == 0:
                listed = True
                others = [self._number(place + 1 + i) for i in range(most + (small < above))]
                self._used += len(others)
            elif how == 1:
                others[0], n = n // above * 1000, n % above
            elif how == 2:
                rest, n = divmod(n, _PAIR_SMALL)
                others = [rest % _PAIR_NUMBER * 1000, rest // _PAIR_NUMBER * 1000]
            else:
                raise self.fail(f"element {place + 1}", "be the number of a record", self._sent[place])
        wide, n = divmod(n, small)
        others += [0] * (most - len(others))
        if listed and wide or not listed and (any(others[most:]) or wide and small == above):
            raise self.fail(f"element {place + 1}", "have nothing above its digits", self._sent[place])
        group, number, at_text = 0, groups, self._used
        self._used += sum(r.text for r in fields)
        for r in fields:
            if r.rows is not None:
                self._rows(r.rows, place, others[group])
                group += 1
            elif r.text:
                self.texts.append(self._text(at_text))
                at_text += 1
            elif r.values == _WIDE and not listed:
                self.ints.append(wide)
            elif r.values and r.values != _WIDE:
                self.ints.append(n % r.values)
                n //= r.values
            else:
                self.ints.append(others[number])
                number += 1

    def _rows(self, fields: tuple[Result, ...], place: int, rows: int) -> None:
        if rows > _MAX_ROWS:
            raise self.fail(f"element {place + 1}", f"have at most {_MAX_ROWS} rows", rows)
        self.ints.append(rows)
        if not all(f.text for f in fields):
            for _ in range(rows):
                self._record(fields)
            return
        for i in range(self._used, self._used + rows * len(fields)):
            self.texts.append(self._text(i))
        self._used += rows * len(fields)

    def _number(self, i: int, minimum: int = 0) -> int:
        if i >= len(self._sent):
            return 0
        n = self._sent[i]
        if not isinstance(n, int) or not minimum <= n <= MAX_INT:
            raise self.fail(f"element {i + 1}", f"be a whole number from {minimum} to {MAX_INT}", n)
        return n

    def _text(self, i: int) -> bytes:
        if i >= len(self._sent):
            return b""
        text = self._sent[i]
        if not isinstance(text, bytes):
            raise self.fail(f"element {i + 1}", "be text", text)
        return text

    def count(self) -> int:
        return next(self._next_int)

    def micros(self) -> Micros:
        return Micros(self.count())

    def duration(self) -> timedelta:
        return timedelta(microseconds=self.count())

    def time(self) -> datetime | None:
        us = self.count()
        return _EPOCH + timedelta(microseconds=us) if us else None

    def flag(self) -> bool:
        n = self.count()
        if n > 1:
            raise self.fail("a bool", "be 0 or 1", n)
        return n == 1

    def enum(self, values: type[E]) -> E:
        members: list[E] = list(values)
        n = self.count()
        if n >= len(members):
            raise self.fail("an enum", f"be below {len(members)}", n)
        return members[n]

    def signed(self) -> int:
        """Reads a whole number that may be below 0; the empty text is 0."""
        text = next(self._next_text)
        if text and not _SIGNED.fullmatch(text) or abs(int(text or 0)) >= MAX_INT:
            raise self.fail("an int", "be a whole number below 2^53", text)
        return int(text or 0)

    def decimal(self) -> float:
        """Reads a number; the empty text is 0."""
        text = next(self._next_text)
        if text and not _DECIMAL.fullmatch(text) or abs(float(text or 0)) > _GREATEST:
            raise self.fail("a float", "be a finite number", text)
        return float(text or 0)

    def raw(self) -> bytes:
        return next(self._next_text)

    def text(self) -> str:
        return self.raw().decode("utf-8", "surrogateescape")

    def json(self) -> Any:
        raw = self.raw()
        try:
            return json.loads(raw.decode(), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise self.fail("a json", "be JSON", raw) from None

    def optional(self, read: Callable[[], T], skip: Callable[[], object]) -> T | None:
        """Reads an optional result; skip reads the place of one that is not there."""
        if self.flag():
            return read()
        skip()
        return None


def _no_constant(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are not JSON


def _above(results: tuple[Result, ...]) -> int:
    worth = 1
    for r in results:
        worth *= r.values or 1
    return worth
