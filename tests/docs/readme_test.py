from tests.docs.pages import ROOT


def test_it_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150
