"""One line of what torch prints; the texts are torch 2.13's own, shortened where there are dots."""

import pytest

from triton_pytorch.torch_runtime.failures import reason

SCRIPTED = """The following operation failed in the TorchScript interpreter.
Traceback of TorchScript, serialized code (most recent call last):
  File "code/__torch__.py", line 16, in forward
    z = torch.add(d["a"], x)
        ~~~~~~~~~ <--- HERE
    if torch.__contains__(d, "b"):

Traceback of TorchScript, original code (most recent call last):
  File "/home/a b/model.py", line 6, in forward
    def forward(self, x: torch.Tensor, d: Dict[str, torch.Tensor]) -> torch.Tensor:
        z = d["a"] + x
            ~~~~~~~~~~ <--- HERE
        if "b" in d:
{}
"""
TRACED = """The following operation failed in the TorchScript interpreter.
Traceback of TorchScript, serialized code (most recent call last):
  File "code/__torch__/torch/nn/modules/linear/___torch_mangle_0.py", line 12, in forward
    return torch.linear(input, weight, bias)
           ~~~~~~~~~~~~ <--- HERE

Traceback of TorchScript, original code (most recent call last):
/usr/lib/python3/torch/nn/modules/linear.py(134): forward
/tmp/e1.py(56): <module>
RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x5 and 3x2)
"""
WITHOUT_SOURCE = """The following operation failed in the TorchScript interpreter.
Traceback of TorchScript (most recent call last):
  File "/tmp/e6.py", line 27, in forward
    def forward(self, x): return torch.ops.mylib.boom(x)
                                 ~~~~~~~~~~~~~~~~~~~~ <--- HERE
RuntimeError: KeyError: 'from python'

At:
  /tmp/e6.py(24): boom
"""
UNKNOWN_OPERATOR = """
Unknown builtin op: torchvision::nms.
Could not find any similar ops to torchvision::nms. This op may ...
:
  File "code/__torch__.py", line 9
    d: Tensor,
"""
BACKEND = """Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend. This could be because ...

CPU: registered at /__w/pytorch/pytorch/build/aten/src/ATen/RegisterCPU_2.cpp:2359 [kernel]
"""
WITH_FRAMES = """CUDA error: device-side assert triggered
CUDA kernel errors might be reported later
Exception raised from c10_cuda_check_implementation at ../c10/cuda/CUDAException.cpp:43 (most recent call first):
frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f1b in libc10.so)
"""


@pytest.mark.parametrize(
    ("last_lines", "expected"),
    [
        ("RuntimeError: KeyError: a", "KeyError: a"),
        (
            "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
            "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
        ),
        ("RuntimeError: index out of range in self", "index out of range in self"),
        ("RuntimeError: AssertionError: asserted", "AssertionError: asserted"),
        ("RuntimeError: AssertionError: ", "AssertionError"),
        ("builtins.ValueError: x", "ValueError: x"),
        ("builtins.RuntimeError: multi\nline\nmsg", "RuntimeError: multi line msg"),
        ("builtins.RuntimeError: ", "RuntimeError"),
        ("builtins.KeyError: a: b", "KeyError: a: b"),
        ("__main__.NotTaken: why", "__main__.NotTaken: why"),
        ("RuntimeError: ' 2\n[ torch.FloatTensor{1} ]' is not in list", "' 2 [ torch.FloatTensor{1} ]' is not in list"),
        (
            "builtins.Exception: RuntimeError: fake\nTraceback of TorchScript (most recent call last): boo",
            "Exception: RuntimeError: fake Traceback of TorchScript (most recent call last): boo",
        ),
    ],
)
def test_last_line_of_a_traceback(last_lines: str, expected: str) -> None:
    text = SCRIPTED.format(last_lines)
    assert reason(RuntimeError(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRACED, "mat1 and mat2 shapes cannot be multiplied (2x5 and 3x2)"),
        (WITHOUT_SOURCE, "KeyError: 'from python'"),
        (
            UNKNOWN_OPERATOR,
            "Unknown builtin op: torchvision::nms. Could not find any similar ops to torchvision::nms. This op may ...",
        ),
        (
            BACKEND,
            "Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend. This could be because ...",
        ),
        (
            WITH_FRAMES,
            "CUDA error: device-side assert triggered CUDA kernel errors might be reported later",
        ),
        (
            "inductor_cpu_throw_if_integer_div_error, /home/a b/torch/include/cpp_prefix.h:827, ZeroDivisionError",
            "ZeroDivisionError",
        ),
        ("run, /home/me/model.cpp:8, ", "RuntimeError"),
        (
            "aoti_torch_cpu_mm_out(buf0, arg0_1) API call failed at /tmp/me/cps3x.wrapper.cpp, line 820",
            "aoti_torch_cpu_mm_out(buf0, arg0_1) API call failed",
        ),
        (
            "index 5 is too large (originally from aoti_torch_take(a, 5) API call failed at /home/me/ops.h, line 12)",
            "index 5 is too large",
        ),
        (
            'x.defined() INTERNAL ASSERT FAILED at "/pytorch/aten/src/a.cpp":12, please report a bug. it is undefined',
            "x.defined() INTERNAL ASSERT FAILED, please report a bug. it is undefined",
        ),
        (
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory",
            "[enforce fail] err == 0. DefaultCPUAllocator: can't allocate memory",
        ),
        ("index 3 at dimension 0, see 'a.h' at /data", "index 3 at dimension 0, see 'a.h' at /data"),
        ("shape '[7]' is invalid for input of size 1", "shape '[7]' is invalid for input of size 1"),
        ("", "RuntimeError"),
        ("\n\n", "RuntimeError"),
        ("a" * 1000, "a" * 600 + "..."),
        ("Traceback of TorchScript (most recent call last):\n  nothing more", "nothing more"),
    ],
)
def test_other_texts(text: str, expected: str) -> None:
    assert reason(RuntimeError(text)) == expected
