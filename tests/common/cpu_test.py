import platform

import pytest

from allennlp_semfit.common import cpu

XEON = """vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) CPU
flags\t\t: fpu avx512f {} avx512vl
"""


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        (XEON.format(""), False),
        (XEON.format("avx512_bf16"), True),
        (XEON.format("amx_bf16 amx_tile"), True),
        ("Features\t: fp asimd bf16 i8mm\n", True),
        ("Features\t: fp asimd\n", False),
    ],
)
def test_bfloat16_instructions(monkeypatch, tmp_path, cpuinfo, expected):
    path = tmp_path / "cpuinfo"
    path.write_text(cpuinfo)
    monkeypatch.setattr(cpu, "_CPUINFO", path)
    assert cpu.has_bfloat16_instructions() is expected
    name = "Intel(R) Xeon(R) CPU" if "model name" in cpuinfo else platform.machine()
    assert cpu.processor_name() == name
