from hypothesis import given
from hypothesis import strategies as st

from experiments.sample_lines import sample_lines

LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=5))


@given(LINES, LINES, st.integers(0, 9))
def test_lines_are_drawn_once_and_always_the_same(tmp_path_factory, first, second, number):
    directory = tmp_path_factory.mktemp("text")
    files = [directory / "a.txt", directory / "b.txt"]
    # The second ends without a line's end.
    files[0].write_bytes("".join(line + "\n" for line in first).encode())
    files[1].write_bytes("\n".join(second).encode())
    sample_lines(files, number, directory / "new" / "out.txt")
    drawn = (directory / "new" / "out.txt").read_bytes()
    lines = [line.encode() for line in first + second if line.encode().strip()]
    found = drawn.split(b"\n")[:-1]
    assert len(found) == min(number, len(lines))
    assert all(found.count(line) <= lines.count(line) for line in found)
    sample_lines(files, number, directory / "again.txt")
    assert (directory / "again.txt").read_bytes() == drawn


def test_the_order_is_not_that_of_the_text(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("".join(f"{number}\n" for number in range(100)))
    sample_lines([text], 50, tmp_path / "out.txt")
    numbers = [int(line) for line in (tmp_path / "out.txt").read_text().split()]
    assert numbers != sorted(numbers)
    assert max(numbers) > 60
