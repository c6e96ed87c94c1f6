"""
Metadata and version bounds. `requirements/requirements.txt` has the tested versions.

AllenNLP 2.10.1, the last version, requires PyTorch < 1.13, which does not exist for Python 3.11 and
later. There it must be installed without its dependencies (`allennlp_semfit/__init__.py` shows the
command), and this file lists what it imports, with bounds that work.
"""

from pathlib import Path

from setuptools import Extension, find_packages, setup

ALLENNLP_IMPORTS = [
    "base58>=2.1.1",
    "cached-path>=1.6",
    "conllu==4.4.2",
    "dill>=0.3.4",
    "fairscale>=0.4.13",
    "ftfy",
    # 1.0 drops `HfFolder`.
    "huggingface-hub>=0.24,<1.0",
    "lmdb>=1.2.1",
    "nltk>=3.6.5",
    "py-rouge==1.1",
    "pytest>=6.2.5",
    # The tokenizers of some pretrained transformers.
    "sentencepiece>=0.1.96",
    # py-rouge imports `pkg_resources`, which later versions lack.
    "setuptools<82",
    "scipy>=1.7.3",
    "spacy>=3.7,<3.9",
    "tensorboardX>=1.2",
    "termcolor>=1.1",
    "torchvision<0.27",
    "tqdm>=4.62",
    # 4.46 drops `AdamW`.
    "transformers>=4.45,<4.46",
    "word2number>=1.1",
]

# The contextualizers' CPU kernels. `optional`: without a compiler, the installation succeeds with a
# warning, and the contextualizers use PyTorch's operations.
NATIVE_KERNELS = Extension(
    "allennlp_semfit.modules.kernels.native_kernels",
    ["allennlp_semfit/modules/kernels/native_kernels.cpp"],
    language="c++",
    extra_compile_args=["-O3", "-std=c++17", "-Wno-psabi"],
    optional=True,
)

setup(
    name="allennlp_semfit",
    version="0.1.0",
    description="ELMo-style word representations trained without a softmax, as an AllenNLP plugin",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=[
        *find_packages(include=["allennlp_semfit", "allennlp_semfit.*"]),
        # For `allennlp copy-configs`.
        "allennlp_semfit.training_config",
    ],
    package_dir={"allennlp_semfit.training_config": "training_config"},
    package_data={
        "allennlp_semfit.modules.kernels": ["*.cpp", "*.pyi"],
        "allennlp_semfit.training_config": ["**/*.jsonnet", "**/*.libsonnet", "**/*.md"],
    },
    ext_modules=[NATIVE_KERNELS],
    python_requires=">=3.8",
    install_requires=[
        "fasttext>=0.9.2",
        "filelock>=3.0",
        "h5py>=3.6",
        "jsonnet>=0.10",
        "more-itertools>=9.0",
        # The spaCy and PyTorch of AllenNLP's own bounds are compiled for NumPy 1.
        "numpy>=1.21,<2; python_version < '3.11'",
        "numpy>=1.21,<2.5; python_version >= '3.11'",
        # With the solver of `allennlp senteval`.
        "scikit-learn>=1.2",
        # pip would try to build a later one for Python 3.8, where AllenNLP needs one of these.
        "tokenizers>=0.12,<0.14; python_version < '3.11'",
        "tokenizers>=0.12; python_version >= '3.11'",
        "torch>=1.12,<2.12",
        *(
            f"{package}; python_version < '3.11'"
            for package in ("allennlp>=2.10,<3", "allennlp-models>=2.10,<3")
        ),
        *(f"{package}; python_version >= '3.11'" for package in ALLENNLP_IMPORTS),
    ],
    extras_require={
        # `allennlp prepare-corpus`, of a MediaWiki dump
        "corpus": ["mwparserfromhell>=0.6"],
    },
    classifiers=[
        "License :: OSI Approved :: Apache Software License",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
    ],
)
