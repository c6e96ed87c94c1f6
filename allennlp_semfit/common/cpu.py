import platform
import re
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


def has_bfloat16_instructions() -> bool:
    """
    Whether the CPU multiplies matrices in `bfloat16`: AVX512-BF16 or AMX of x86, or BF16 of Arm.
    """
    return bool(re.search(r"\b(avx512_bf16|amx_bf16|bf16)\b", _CPUINFO.read_text("utf-8")))


def processor_name() -> str:
    """The name of the CPU, or of its architecture if the name is unknown."""
    found = re.search(r"^model name\s*:\s*(.+)$", _CPUINFO.read_text("utf-8"), re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()
