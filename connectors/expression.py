"""The expression an alert was made of, and the same without its threshold. Pure; no URL is ever fetched."""

from __future__ import annotations

import json
import re
from typing import NamedTuple, cast
from urllib.parse import parse_qs, unquote, urlsplit

import promql_parser as promql

_MAX_LENGTH = 4_000
"""Longer expressions are shown as they are: nobody reads their graph, and parsing takes longer than in proportion."""

_COMPARISONS = frozenset({"==", "!=", ">", "<", ">=", "<="})
_SCALAR_FUNCTIONS = frozenset({"scalar", "time", "pi"})
_STRING_OR_SPACE = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)|\s+""", re.DOTALL)


class Uncompared(NamedTuple):
    """An expression whose value shows below the threshold too.

    `understood` is False when it could not be parsed and is given back as it came. `comparison` is what was taken
    off, such as `> 0.05`, or empty when there was none.
    """

    expression: str
    comparison: str = ""
    understood: bool = True


def firing_expression(generator_url: str) -> str | None:
    """The PromQL in an alert's `generatorURL`: `g0.expr` of the query, or the JSON in the fragment of old versions."""
    try:
        parts = urlsplit(generator_url)
        found = parse_qs(parts.query, max_num_fields=200).get("g0.expr", [""])[0]
    except ValueError:
        return None
    return found.strip() or _from_fragment(parts.fragment)


def _from_fragment(fragment: str) -> str | None:
    try:
        panels = json.loads(unquote(fragment))
    except (ValueError, RecursionError):
        return None
    first = cast("list[object]", panels)[0] if isinstance(panels, list) and panels else None
    expression = cast("dict[str, object]", first).get("expr") if isinstance(first, dict) else None
    return (expression.strip() or None) if isinstance(expression, str) else None


def without_comparison(expression: str) -> Uncompared:
    """Take the outermost comparison off, so that a range query shows the value before and after it crossed.

    `rate(x[5m]) > 0.05` gives `rate(x[5m])`; `0.05 < x` gives `x`; of `a > 5 and b > 3` only the left side, the one
    that gives the value, loses its comparison. `or` has no one value and stays, like what compares nothing.
    """
    if len(expression) > _MAX_LENGTH:
        return Uncompared(expression, understood=False)
    try:
        parsed = promql.parse(_plain_strings(expression))
        value, comparison = _uncompare(parsed)
        if value is None:
            return Uncompared(expression)
        text = _one_line(value.prettify())
        promql.parse(text)
    except (ValueError, RecursionError):
        return Uncompared(expression, understood=False)
    return Uncompared(text, _one_line(comparison))


def _uncompare(node: promql.Expr) -> tuple[promql.Expr | None, str]:
    """The node without its comparison and the comparison, or (None, "") when it has none."""
    if isinstance(node, promql.ParenExpr):
        return _uncompare(node.expr)
    if not isinstance(node, promql.BinaryExpr):
        return None, ""
    operator = str(node.op)
    if operator in ("and", "unless"):
        left, comparison = _uncompare(node.lhs)
        return (None, "") if left is None else (_with_left(node, left), comparison)
    if operator not in _COMPARISONS:
        return None, ""
    kept, other = (node.rhs, node.lhs) if _is_scalar(node.lhs) else (node.lhs, node.rhs)
    shown = f"{operator} {other.prettify()}" if kept is node.lhs else f"{other.prettify()} {operator}"
    inner, _ = _uncompare(kept)
    return inner or kept, shown


def _with_left(node: promql.BinaryExpr, left: promql.Expr) -> promql.Expr:
    """The node with another left side. The parser's nodes cannot be written, and its walk comes to the left first."""
    old, replaced = str(node.lhs), False

    def replace(each: promql.Expr) -> promql.Expr | None:
        nonlocal replaced
        if replaced or str(each) != old:
            return None
        replaced = True
        return left

    return promql.transform(node, pre_visit=replace)


def _is_scalar(node: promql.Expr) -> bool:
    if isinstance(node, promql.NumberLiteral):
        return True
    if isinstance(node, promql.ParenExpr | promql.UnaryExpr):
        return _is_scalar(node.expr)
    if isinstance(node, promql.BinaryExpr):
        return _is_scalar(node.lhs) and _is_scalar(node.rhs)
    return isinstance(node, promql.Call) and node.func.name in _SCALAR_FUNCTIONS


def _plain_strings(expression: str) -> str:
    """Raw strings in backticks as ordinary ones, which the parser does not do by itself."""

    def plain(match: re.Match[str]) -> str:
        text = match.group(0)
        return json.dumps(text[1:-1], ensure_ascii=False) if text.startswith("`") else text

    return _STRING_OR_SPACE.sub(plain, expression)


def _one_line(pretty: str) -> str:
    """The parser breaks long expressions over lines; spaces inside strings stay."""
    return _STRING_OR_SPACE.sub(lambda match: match.group(1) or " ", pretty).strip()
