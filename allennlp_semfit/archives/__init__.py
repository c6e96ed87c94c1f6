from allennlp_semfit.archives.archive import Archive, ArchiveKind, UnsafeArchiveError

__all__ = ["Archive", "ArchiveKind", "UnsafeArchiveError"]
