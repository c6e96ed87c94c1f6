from contextvars import ContextVar

weights_follow: "ContextVar[bool]" = ContextVar("weights_follow", default=False)
"""Whether the modules that are being built get their weights from a file anyway."""
