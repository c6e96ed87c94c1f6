import platform
import re
from pathlib import Path

__all__ = ["has_bfloat16_instructions", "has_instructions", "is_intel", "processor_name"]

_CPUINFO = Path("/proc/cpuinfo")


def has_bfloat16_instructions() -> bool:
    """
    Whether the CPU multiplies matrices in `bfloat16`: AVX512-BF16 or AMX of x86, or BF16 of Arm.
    Only Linux tells; elsewhere, `False`.
    """
    return has_instructions("avx512_bf16|amx_bf16|bf16")


def has_instructions(names: str) -> bool:
    """
    Whether the CPU has one of these instruction sets, as Linux names them, separated by `|`. Only
    Linux tells; elsewhere, `False`.
    """
    return bool(re.search(rf"\b({names})\b", _read_cpuinfo()))


def is_intel() -> bool:
    """Whether the CPU is one of Intel's. Only Linux tells; elsewhere, `False`."""
    return "GenuineIntel" in _read_cpuinfo()


def processor_name() -> str:
    """The name of the CPU, or of its architecture if the name is unknown."""
    found = re.search(r"^model name\s*:\s*(.+)$", _read_cpuinfo(), re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def _read_cpuinfo() -> str:
    return _CPUINFO.read_text(encoding="utf-8") if _CPUINFO.exists() else ""
