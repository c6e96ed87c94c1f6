from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext


class BuildKernels(build_ext):
    """
    Builds a shared library for `ctypes`, whose name has no version of Python. With the underscore,
    `--include-package` does not take it for a module.
    """

    def get_ext_filename(self, fullname):
        return f"{fullname.replace('.', '/')}.so"


class BuildWheel(bdist_wheel):
    """Builds a wheel for all versions of Python on one platform."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(
    cmdclass={"build_ext": BuildKernels, "bdist_wheel": BuildWheel},
    packages=[
        *find_packages(include=["allennlp_semfit", "allennlp_semfit.*"]),
        # For `allennlp copy-configs`.
        "allennlp_semfit.training_config",
    ],
    package_dir={"allennlp_semfit.training_config": "training_config"},
    # The contextualizers' CPU kernels. `optional`: without a compiler, the installation succeeds
    # with a warning, and the contextualizers use PyTorch's operations.
    ext_modules=[
        Extension(
            "allennlp_semfit.modules.kernels._native_kernels",
            ["allennlp_semfit/modules/kernels/native_kernels.cpp"],
            language="c++",
            extra_compile_args=["-O3", "-std=c++17", "-Wno-psabi"],
            optional=True,
        )
    ],
)
