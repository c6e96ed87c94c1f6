import pytest

from allennlp_semfit.modules.kernels.native_ops import native_kernels


@pytest.fixture(
    scope="module",
    params=[
        width
        for width in (4, 8, 16)
        if native_kernels is not None and native_kernels.select_vector_width(width) == width
    ],
)
def vector_width(request):
    """Each width of vectors that this CPU has, of those that the kernels are compiled for."""
    yield native_kernels.select_vector_width(request.param)
    native_kernels.select_vector_width(16)
