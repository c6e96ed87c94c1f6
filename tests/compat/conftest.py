import pytest

from allennlp_semfit import compat
from tests.compat.tagger import SENTENCES


@pytest.fixture(autouse=True)
def _mended() -> None:
    compat.apply_patches()


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tagged.tsv").write_text("\n".join(SENTENCES) + "\n")
