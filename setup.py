"""Metadata and loose bounds. The versions that are tested stand in `requirements/`."""

from pathlib import Path

from setuptools import find_packages, setup

setup(
    name="allennlp_semfit",
    version="0.1.0",
    description="ELMo-style word representations trained without a softmax, as an AllenNLP plugin",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=find_packages(include=["allennlp_semfit", "allennlp_semfit.*"]),
    python_requires=">=3.8",
    install_requires=[
        "allennlp>=2.10,<3",
        "allennlp-models>=2.10,<3",
        "fasttext>=0.9.2",
        "filelock>=3.0",
        "h5py>=3.0",
        "jsonnet>=0.10",
        "more-itertools>=9.0",
        # 1.2 has the solver that `allennlp senteval` takes.
        "scikit-learn>=1.2",
        "tokenizers>=0.12",
        "torch>=1.12",
        "numpy>=1.21",
    ],
    extras_require={
        # `allennlp prepare-corpus`
        "corpus": ["mwparserfromhell>=0.6", "spacy>=3.0"],
    },
    classifiers=[
        "License :: OSI Approved :: Apache Software License",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
    ],
)
