import pytest
from allennlp.common import util

from allennlp_semfit.commands.options import exit_on_error


@pytest.mark.parametrize(
    ("interrupt", "code"), [(KeyboardInterrupt, 130), (util.SigTermReceived, 143)]
)
def test_an_interruption_is_one_line(interrupt, code, capsys):
    with pytest.raises(SystemExit) as ended, exit_on_error("embed", interrupted="it resumes"):
        raise interrupt
    assert ended.value.code == code
    assert capsys.readouterr().err == "embed: interrupted; it resumes\n"
