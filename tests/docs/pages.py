"""The pages of the documentation."""

from tests import FIXTURES

ROOT = FIXTURES.parent
# In the order in which a reader meets them.
PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "install",
            "tutorial",
            "concepts",
            "howto/corpus",
            "howto/models",
            "howto/training",
            "howto/gpus",
            "howto/continue",
            "howto/vectors",
            "howto/inspect",
            "howto/tasks",
            "howto/integrations",
            "reference/components",
            "reference/commands",
            "reference/python",
            "results",
            "performance",
            "security",
            "reliability",
            "troubleshooting",
        )
    ),
    ROOT / "CONTRIBUTING.md",
]
