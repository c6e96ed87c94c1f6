import pytest

from tests.language_models import KINDS, write_language_model


@pytest.fixture(scope="session")
def language_models(lm_archive, tmp_path_factory):
    """Those of each kind, and one that was trained."""
    directory = tmp_path_factory.mktemp("language_models")
    written = {kind: write_language_model(directory / kind, kind) for kind in KINDS}
    return {"trained": lm_archive, **written}
