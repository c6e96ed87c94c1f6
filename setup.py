from setuptools import Extension, find_packages, setup

setup(
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
            "allennlp_semfit.modules.kernels.native_kernels",
            ["allennlp_semfit/modules/kernels/native_kernels.cpp"],
            language="c++",
            extra_compile_args=["-O3", "-std=c++17", "-Wno-psabi"],
            optional=True,
        )
    ],
)
