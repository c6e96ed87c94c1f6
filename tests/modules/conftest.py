import pytest

from allennlp_semfit.modules.kernels.implementation import native_kernels


@pytest.fixture(
    scope="module",
    params=[
        name
        for name in ("default", "avx2", "avx512")
        if native_kernels is not None and native_kernels.select_instruction_set(name) == name
    ],
)
def instruction_set(request):
    """Each instruction set that this CPU has, of those that the kernels are compiled for."""
    yield native_kernels.select_instruction_set(request.param)
    native_kernels.select_instruction_set("avx512")
