"""What all tests share: the rooms importable as `triton_pytorch.*`, as model.py and __main__.py make them."""

import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]

_rooms = sys.modules.setdefault("triton_pytorch", ModuleType("triton_pytorch"))
_rooms.__path__ = [str(ROOT)]
sys.dont_write_bytecode = True
