from contextvars import ContextVar

weights_follow: "ContextVar[bool]" = ContextVar("weights_follow", default=False)
"""Whether modules need no initialization, because their weights are loaded from a file next."""
