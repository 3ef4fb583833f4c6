"""Sizes of dimensions: whole numbers, dynamic sizes by name, and polynomials of both, such as `2*s27 + 1`."""

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

_LONG = re.compile(r"\b(\d+)L\b")  # AOTInductor prints C++: `2L*s27`

_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

Monomial = tuple[str, ...]


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
    def is_symbol(self) -> bool:
        """True of a name and nothing else."""
        return len(self.symbols) == 1 and self == dynamic_size(*self.symbols)

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
        return _as_size(_product(_as_polynomial(self), _as_polynomial(other)))

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
    try:
        return _as_size(_polynomial(ast.parse(_LONG.sub(r"\1", text.strip()), mode="eval").body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: a sum of thousands of terms
        return None


def solved_size(solution: str, size: str, symbol: str) -> Size | None:
    """Return what `size` is, from how C++ source works `symbol` out of it: `2*s27` for `(1.0/2.0)*size`.

    None where that is not a sum of a multiple of `size` and a number, or has other names in it.
    """
    try:
        body = ast.parse(_LONG.sub(r"\1", solution.strip()), mode="eval").body
        first, second, third = (_evaluated(body, {size: Fraction(number)}) for number in range(3))
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    step = second - first
    if step <= 0 or third - second != step:
        return None
    factor, offset = 1 / step, -first / step
    if factor.denominator > 1 or offset.denominator > 1:
        return None
    return _as_size(Counter({(symbol,): factor.numerator, (): offset.numerator}))


def _evaluated(node: ast.expr, values: Mapping[str, Fraction]) -> Fraction:
    match node:
        case ast.Constant(value=int(number) | float(number)) if not isinstance(number, bool):
            return Fraction(number)
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluated(operand, values)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            return _OPERATIONS[type(operation)](_evaluated(left, values), _evaluated(right, values))
    raise ValueError("not a number")


def _polynomial(node: ast.expr) -> Counter[Monomial]:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return Counter({(): number})
        case ast.Name(id=name):
            return Counter({(name,): 1})
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _product(Counter({(): -1}), _polynomial(operand))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sum(_polynomial(left), _polynomial(right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _sum(_polynomial(left), _product(Counter({(): -1}), _polynomial(right)))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _product(_polynomial(left), _polynomial(right))
    raise ValueError("not a polynomial")


def _sum(left: Counter[Monomial], right: Counter[Monomial]) -> Counter[Monomial]:
    total = Counter(left)
    total.update(right)
    return total


def _product(left: Counter[Monomial], right: Counter[Monomial]) -> Counter[Monomial]:
    product: Counter[Monomial] = Counter()
    for symbols, factor in left.items():
        for others, other_factor in right.items():
            product[tuple(sorted(symbols + others))] += factor * other_factor
    return product


def _as_polynomial(size: Size) -> Counter[Monomial]:
    return Counter({symbols: factor for factor, symbols in size.terms})


def _as_size(polynomial: Counter[Monomial]) -> Size:
    terms = ((factor, symbols) for symbols, factor in polynomial.items() if factor)
    return Size(tuple(sorted(terms, key=_degree_first)))


def _degree_first(term: tuple[int, Monomial]) -> tuple[int, Monomial]:
    return (-len(term[1]), term[1])


def _printed(term: tuple[int, Monomial]) -> str:
    factor, symbols = term
    product = "*".join(symbols)
    if not symbols:
        return str(factor)
    return {1: product, -1: f"-{product}"}.get(factor, f"{factor}*{product}")
