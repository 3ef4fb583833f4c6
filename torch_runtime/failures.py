"""What torch says when a model fails, as one line: without tracebacks, C++ frames and paths of source files."""

import re

_TRACEBACK = re.compile(r"^Traceback of TorchScript.*\(most recent call last\):$", re.MULTILINE)
_CARETS = re.compile(r"^ *~+ <--- HERE\n", re.MULTILINE)
_RAISED = re.compile(r"^(?:builtins\.)?([A-Za-z_][\w.]*): ?", re.MULTILINE)
# What follows is where in C++ or Python it happened, or long advice.
_END = re.compile(
    r"\n\s*\n|:?\n\s*(?:(?:Serialized +)?File \"|Exception raised from |frame #\d|C\+\+ CapturedTraceback)"
)
# Where in torch's or the model's C++ a check failed, as the checks themselves write it:
#     function, /path/to/file.h:827, what is wrong                            (STD_TORCH_CHECK)
#     what is wrong (originally from f() API call failed at file.h, line 5)    (the stable ABI)
#     f() API call failed at file.cpp, line 5                                  (compiled packages)
#     c INTERNAL ASSERT FAILED at "file.cpp":5, what is wrong
_FILE = r"\.(?:c|cc|cpp|cu|cuh|h|hpp|inl)\"?(?::\d+|, line \d+)"
_CHECKED_IN = re.compile(rf"^\w+, [^\n]*?{_FILE}, ?")
_CALLED_IN = re.compile(rf" \(originally from .*? at (?:(?! at )[^\n])*?{_FILE}\)")
_AT = re.compile(rf" at (?:(?! at )[^\n])*?{_FILE}")
_LONGEST = 600


def reason(error: BaseException) -> str:
    """Return in one line what went wrong; no path of this machine is in it, unless the model itself says one.

    torch prints of a failure in TorchScript two tracebacks with excerpts of source and then, as its last lines,

        RuntimeError: what an operator said
        builtins.ValueError: what the model said in a `raise`

    The first prefix is torch's own, the second one the model's.
    """
    text = _without_tracebacks(str(error).strip())
    line = " ".join(_without_places(_END.split(text, maxsplit=1)[0]).split())
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
    return line.removesuffix(":") or type(error).__name__


def _without_tracebacks(text: str) -> str:
    tracebacks = list(_TRACEBACK.finditer(text))[:2]
    if not tracebacks:
        return text
    start = tracebacks[-1].end()
    carets = list(_CARETS.finditer(text, start))
    raised = _RAISED.search(text, carets[-1].end() if carets else start)
    if raised is None:
        return text[start:].strip().rsplit("\n", 1)[-1]
    said = text[raised.end() :].lstrip()
    return said if raised[0].startswith("RuntimeError:") and said else f"{raised[1]}: {said}"


def _without_places(text: str) -> str:
    for place in (_CHECKED_IN, _CALLED_IN, _AT):
        text = place.sub("", text)
    return text
