"""The source distribution and, built of it, the wheel."""

import os
import shutil
import subprocess
import sys
import tarfile
from email.parser import HeaderParser
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

import allennlp_semfit
from tests import ROOT

SOURCES = ["allennlp_semfit", "requirements", "training_config", ".allennlp_plugins"]
SOURCES += ["CHANGELOG.md", "LICENSE", "Makefile", "MANIFEST.in", "README.md"]
SOURCES += ["pyproject.toml", "setup.py"]
NEITHER_CODE_NOR_CONFIG = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")


def files(directory, prefix=""):
    return {
        prefix + str(path.relative_to(directory))
        for path in directory.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }


def build(kind, directory, out, **environment):
    script = f"from setuptools import build_meta; build_meta.build_{kind}({str(out)!r})"
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=directory,
        env={**os.environ, **environment},
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return process.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The directory of the unpacked source distribution, and the wheel."""
    directory = tmp_path_factory.mktemp("packaging")
    copy = directory / "copy"
    copy.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=NEITHER_CODE_NOR_CONFIG)
        else:
            shutil.copy(ROOT / name, copy)
    build("sdist", copy, directory)
    (sdist,) = directory.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(directory)
    unpacked = directory / sdist.name[: -len(".tar.gz")]
    build("wheel", unpacked, directory)
    (wheel,) = directory.glob("*.whl")
    return unpacked, ZipFile(wheel)


def test_the_source_distribution_has_all_that_make_needs(built):
    directory, _ = built
    found = files(directory)
    for name in SOURCES:
        if (ROOT / name).is_dir():
            assert files(ROOT / name, f"{name}/") <= found
        else:
            assert name in found


def test_the_version_is_that_of_the_package_and_of_the_citation(built):
    directory, _ = built
    assert directory.name == f"allennlp_semfit-{allennlp_semfit.__version__}"
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {allennlp_semfit.__version__}\n" in citation


def test_the_wheel_has_the_modules_and_the_configs(built):
    _, wheel = built
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    kernels = {"allennlp_semfit/modules/kernels/_native_kernels.so"}
    assert kernels <= found
    assert found - kernels == files(ROOT / "allennlp_semfit", "allennlp_semfit/") | files(
        ROOT / "training_config", "allennlp_semfit/training_config/"
    )


def test_the_wheel_is_for_all_versions_of_python(built):
    _, wheel = built
    assert "-py3-none-linux_" in wheel.filename


def test_without_a_compiler_the_kernels_are_missing_and_nothing_else(built, tmp_path):
    directory, wheel = built
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy, ignore=shutil.ignore_patterns("build"))
    output = build("wheel", copy, tmp_path, CC="no-compiler", CXX="no-compiler")
    assert 'building extension "allennlp_semfit.modules.kernels._native_kernels" failed' in output
    (path,) = tmp_path.glob("*.whl")
    missing = set(wheel.namelist()) - set(ZipFile(path).namelist())
    assert [Path(name).suffix for name in missing] == [".so"]


def test_the_bounds_allow_the_versions_that_are_tested(built):
    _, wheel = built
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    headers = HeaderParser().parsestr(wheel.read(metadata).decode())
    requirements = list(map(Requirement, headers.get_all("Requires-Dist")))
    core = {requirement.name for requirement in requirements if requirement.marker is None}
    assert core == {"numpy", "safetensors", "torch"}
    required = {requirement.name: requirement.specifier for requirement in requirements}
    # Its own bounds would leave an installer nothing to install.
    assert not {"allennlp", "allennlp-models"} & set(required)
    for name, specifier in required.items():
        assert specifier.contains(version(name)), name
