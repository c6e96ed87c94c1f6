"""What `make data` and the commands at the top of the configs make, of the fixtures."""

import pytest

from allennlp_semfit.fasttext.train import train_fasttext
from allennlp_semfit.static_vectors.svd import train_svd
from tests import TRAIN, VALIDATION
from tests.elmo_weights import write_elmo
from tests.mimick_archive import write_mimick
from tests.subword_files import write_subwords


@pytest.fixture(scope="session")
def workspace(tmp_path_factory):
    """A directory in which the configs run as they are."""
    directory = tmp_path_factory.mktemp("workspace")
    data, output = directory / "data" / "sample", directory / "output"
    data.mkdir(parents=True)
    (data / "train").symlink_to(TRAIN)
    (data / "validation.txt").symlink_to(VALIDATION)
    train_fasttext([TRAIN], data / "vectors.bin", dim=100, bucket=2000, min_count=1, epoch=5)
    svd = {"min_count": 1, "vocabulary_dir": data / "svd_vocabulary"}
    train_svd([TRAIN], data / "svd.txt", dim=100, **svd)
    pca = {"min_count": 1, "vocabulary_dir": data / "pca_vocabulary"}
    train_svd([TRAIN], data / "pca.txt", dim=50, pca_of=data / "vectors.bin", **pca)
    write_subwords(data / "subwords")
    write_elmo(
        output / "character_cnn",
        filters=((1, 16), (2, 16), (3, 32), (4, 64), (5, 128)),
        character_dim=16,
        projection_dim=100,
    )
    write_mimick(output / "mimick", archive=True)
    return directory
