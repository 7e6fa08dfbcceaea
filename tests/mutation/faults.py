"""Deliberate faults: small changes of a source text, each of which some test should notice.

Left out are the places where a change is no fault of behaviour: docstrings, decorators, type hints, default values,
texts of messages, the look of figures and of `repr`.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

OPERATORS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
    "train": "test",
    "test": "train",
    "inner_train": "inner_test",
    "inner_test": "inner_train",
}
# Keywords whose value changes speed, looks or the draw of random numbers, but nothing that a test should fix.
QUIET_KEYWORDS = {"random_state", "seed", "n_jobs", "verbose", "stacklevel", "decimals", "digits", "maxsize"}
# Functions and modules about looks.
LOOKS = re.compile(r"__repr__|__str__|_repr_\w*|__rich\w*|_?plot\w*|\w*_figures?")
NUMERIC_HINT = re.compile(r"\b(float|int|ndarray|NDArray\w*)\b")


@dataclass(frozen=True)
class Fault:
    """A change of one stretch of a source text, given in bytes."""

    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{_one_line(self.before)}  ->  {_one_line(self.after)}"

    def applied_to(self, source: str) -> str:
        """The source text with the fault in it."""
        raw = source.encode()
        return (raw[: self.start] + self.after.encode() + raw[self.end :]).decode()


def faults_in(source: str) -> list[Fault]:
    """All faults that can be put into a source text.

    >>> source = "def spread(x: float) -> float:\\n    'The width.'\\n    return max(x) - 1"
    >>> for fault in faults_in(source):
    ...     print(fault)
    max(x) - 1  ->  -(max(x) - 1)
    max(x) - 1  ->  (max(x) + 1)
    max  ->  min
    1  ->  2
    >>> print(faults_in(source)[1].applied_to(source).splitlines()[-1])
        return (max(x) + 1)
    """
    starts = _line_starts(source)
    found = []
    for node, after in _changes(ast.parse(source)):
        start, end = starts[node.lineno] + node.col_offset, starts[node.end_lineno] + node.end_col_offset
        before = source.encode()[start:end].decode()
        found.append(Fault(node.lineno, start, end, before, after))
    return found


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Each node that can be changed below this one, with the text that takes its place."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if LOOKS.fullmatch(node.name):
            return
        for statement in node.body:
            yield from _sign_changes(statement, node.returns)
            yield from _changes(statement)
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    yield from _changes_here(node)
    for child in _places_below(node):
        yield from _changes(child)


def _changes_here(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    match node:
        case ast.Compare(left, [operator], comparators) if type(operator) in OPERATORS:
            yield node, f"({ast.unparse(ast.Compare(left, [OPERATORS[type(operator)]()], comparators))})"
        case ast.BoolOp(operator, values):
            yield node, f"({ast.unparse(ast.BoolOp(OPERATORS[type(operator)](), values))})"
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS and not _is_text(left, right):
            yield node, f"({ast.unparse(ast.BinOp(left, OPERATORS[type(operator)](), right))})"
        case ast.AugAssign(target, operator, value) if type(operator) in OPERATORS and not _is_text(value):
            yield node, ast.unparse(ast.AugAssign(target, OPERATORS[type(operator)](), value))
        case ast.UnaryOp(ast.Not() | ast.Invert() | ast.USub(), operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.Constant(value) if type(value) is int:
            yield node, str(value + 1)
        case ast.Return(ast.Constant(value)) if type(value) is bool:
            yield node, f"return {not value}"
        case ast.Name(name, ast.Load()) if name in NAMES:
            yield node, NAMES[name]
        case ast.Attribute(value, name) if name in NAMES and NAMES[name] not in ("train", "test"):
            yield node, f"({ast.unparse(value)}).{NAMES[name]}"
        case ast.For(ast.Tuple([ast.Name(), ast.Name("test")]) as pair):
            yield pair, ", ".join(ast.unparse(name) for name in reversed(pair.elts))
        case ast.If(condition) | ast.IfExp(condition) if not _has_a_flip(condition):
            yield condition, f"(not ({ast.unparse(condition)}))"
        case ast.Expr(ast.Call()) | ast.Continue():
            yield node, "pass"
        case ast.Break():
            yield node, "continue"


def _sign_changes(statement: ast.stmt, hint: ast.expr | None) -> Iterator[tuple[ast.AST, str]]:
    """The returned numbers of a function, with the other sign."""
    if hint is None or not NUMERIC_HINT.search(ast.unparse(hint)) or "tuple" in ast.unparse(hint):
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Return) and isinstance(node.value, (ast.BinOp, ast.Call, ast.Name, ast.Subscript)):
            yield node.value, f"-({ast.unparse(node.value)})"


def _places_below(node: ast.AST) -> Iterator[ast.AST]:
    """The children in which a change would be a fault of behaviour."""
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Lambda():
            return
        case ast.Expr(ast.Call(function)) if ast.unparse(function) in ("warnings.warn", "warn"):
            return
        case ast.keyword(name) if name in QUIET_KEYWORDS:
            return
        case ast.Assign([ast.Name(name)]) if name in ("__all__", "_parameter_constraints"):
            return
        case ast.AnnAssign(_, _, value):
            yield from [value] if value is not None else []
        case ast.ClassDef():
            yield from [] if LOOKS.fullmatch(node.name) else node.body
        case ast.Call(ast.Name("round" | "isinstance"), [value, *_]):
            yield value
        case _:
            yield from ast.iter_child_nodes(node)


def _has_a_flip(condition: ast.expr) -> bool:
    """Whether another change of this condition turns it round already."""
    match condition:
        case ast.UnaryOp(ast.Not()):
            return True
        case ast.Compare(_, [ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn() | ast.Is() | ast.IsNot()]):
            return True
    return False


def _is_text(*nodes: ast.expr) -> bool:
    return any(
        isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str)) for n in nodes
    )


def _line_starts(source: str) -> list[int]:
    """The byte at which each line starts, counted from line 1."""
    starts = [0, 0]
    for line in source.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else line[:67] + "..."
