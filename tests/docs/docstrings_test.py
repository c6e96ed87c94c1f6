import sys
from types import SimpleNamespace

from tests.docs.reference_test import load_hook

DOCSTRING = """
What it is: see [`cosine`](#cosine) and [the paper](https://example.org).

# Parameters

vocab : `Vocabulary`
dropout : `float`, optional (default = `0.5`)
    A probability.

    Of two paragraphs.

# Returns

`torch.Tensor`
    Shape `(N,)`.

# Example

```json
"head": {}
```
"""
MARKDOWN = """
What it is: see `cosine` and [the paper](https://example.org).

**Parameters**


- `vocab` : `Vocabulary`


- `dropout` : `float`, optional (default = `0.5`)

    A probability.

    Of two paragraphs.

**Returns**


- `torch.Tensor`

    Shape `(N,)`.

**Example**

```json
"head": {}
```
"""


def test_parameters_become_a_list(monkeypatch):
    # `make docs` has it, in an environment of its own.
    monkeypatch.setitem(sys.modules, "griffe", SimpleNamespace(Extension=object, Object=object))
    assert load_hook("docstrings").to_markdown(DOCSTRING) == MARKDOWN[:-1]
