"""Sizes of dimensions: whole numbers, dynamic sizes by name, and polynomials of both, such as `2*s27 + 1`."""

import ast
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

_LONG = re.compile(r"\b(\d+)L\b")  # AOTInductor prints C++: `2L*s27`

Monomial = tuple[str, ...]
_Polynomial = dict[Monomial, Fraction]  # the factor of each product of names
_ZERO = Fraction()
_MINUS_ONE: _Polynomial = {(): Fraction(-1)}


@dataclass(frozen=True, slots=True)
class Size:
    """A sum of terms, each a factor and the names that it multiplies; no two terms share their names."""

    terms: tuple[tuple[int, Monomial], ...]

    @property
    def constant(self) -> int | None:
        """The number that this size always is, or None where it is dynamic."""
        if self.symbols:
            return None
        return self.terms[0][0] if self.terms else 0

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the dynamic sizes in it."""
        return frozenset(symbol for _, symbols in self.terms for symbol in symbols)

    @property
    def symbol(self) -> str | None:
        """The name that this size is; None where it is not a name alone."""
        match self.terms:
            case ((1, (symbol,)),):
                return symbol
        return None

    @property
    def _polynomial(self) -> _Polynomial:
        return {symbols: Fraction(factor) for factor, symbols in self.terms}

    def value(self, sizes: Mapping[str, int]) -> int:
        """Return the number that this size is, given a number for each of `symbols`."""
        return sum(factor * prod(sizes[symbol] for symbol in symbols) for factor, symbols in self.terms)

    def renamed(self, names: Mapping[str, str]) -> "Size":
        """Return this size with other names for some of its symbols."""
        renamed: Counter[Monomial] = Counter()
        for factor, symbols in self.terms:
            renamed[tuple(sorted(names.get(symbol, symbol) for symbol in symbols))] += factor
        return _as_size(renamed)

    def __mul__(self, other: "Size") -> "Size":
        return _as_size(_product(self._polynomial, other._polynomial))

    def __str__(self) -> str:
        return " + ".join(map(_printed, self.terms)).replace("+ -", "- ") or "0"


def size_of(number: int) -> Size:
    """Return a size that is always this number."""
    return Size(((number, ()),) if number else ())


def dynamic_size(name: str) -> Size:
    """Return a dynamic size of this name."""
    return Size(((1, (name,)),))


def parse_size(text: str) -> Size | None:
    """Read a size as C++ source has it; None where it is not a polynomial (a quotient, a maximum, ...)."""
    polynomial = None if "/" in text else _read(text)
    return None if polynomial is None else _whole(polynomial)


def solved_size(solution: str, size: str, symbol: str) -> Size | None:
    """Return what `size` is, from how C++ source works `symbol` out of it: `2*s27` for `(1.0/2.0)*size`.

    None where that is not a sum of a multiple of `size` and a number, or has other names in it.
    """
    polynomial = _read(solution) or {}
    step, offset = polynomial.get((size,), _ZERO), polynomial.get((), _ZERO)
    if step <= 0 or not polynomial.keys() <= {(size,), ()}:
        return None
    return _whole({(symbol,): 1 / step, (): -offset / step})


def _read(text: str) -> _Polynomial | None:
    try:
        return _polynomial(ast.parse(_LONG.sub(r"\1", text.strip()), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):  # the last two: thousands of terms
        return None


def _polynomial(node: ast.expr) -> _Polynomial:
    match node:
        case ast.Constant(value=int(number) | float(number)) if not isinstance(number, bool):
            return {(): Fraction(number)}
        case ast.Name(id=name):
            return {(name,): Fraction(1)}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _product(_MINUS_ONE, _polynomial(operand))
        case ast.BinOp(left=left, op=operation, right=right):
            return _combined(_polynomial(left), operation, _polynomial(right))
    raise ValueError("not a polynomial")


def _combined(left: _Polynomial, operation: ast.operator, right: _Polynomial) -> _Polynomial:
    match operation:
        case ast.Add():
            return {symbols: left.get(symbols, _ZERO) + right.get(symbols, _ZERO) for symbols in {**left, **right}}
        case ast.Sub():
            return _combined(left, ast.Add(), _product(_MINUS_ONE, right))
        case ast.Mult():
            return _product(left, right)
        case ast.Div() if right.keys() == {()}:
            return _product(left, {(): 1 / right[()]})
    raise ValueError("not a polynomial")


def _product(left: _Polynomial, right: _Polynomial) -> _Polynomial:
    product: _Polynomial = {}
    for symbols, factor in left.items():
        for others, other_factor in right.items():
            key = tuple(sorted(symbols + others))
            product[key] = product.get(key, _ZERO) + factor * other_factor
    return product


def _whole(polynomial: _Polynomial) -> Size | None:
    are_whole = all(factor.denominator == 1 for factor in polynomial.values())
    return _as_size(polynomial) if are_whole else None


def _as_size(polynomial: Mapping[Monomial, Fraction | int]) -> Size:
    terms = ((int(factor), symbols) for symbols, factor in polynomial.items() if factor)
    return Size(tuple(sorted(terms, key=_degree_first)))


def _degree_first(term: tuple[int, Monomial]) -> tuple[int, Monomial]:
    return (-len(term[1]), term[1])


def _printed(term: tuple[int, Monomial]) -> str:
    factor, symbols = term
    product = "*".join(symbols)
    if not symbols:
        return str(factor)
    return {1: product, -1: f"-{product}"}.get(factor, f"{factor}*{product}")
