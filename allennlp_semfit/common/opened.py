import os
from contextlib import suppress
from typing import Any, Dict, Self, Tuple, Union
from weakref import WeakValueDictionary

from allennlp_semfit.common.errors import InvalidFileError, absolute_path, resolve_path


class OpenedOnce:
    """
    An object that is constructed from the paths of its files. It is pickled as these paths, and
    `copy.deepcopy` returns the object itself.
    """

    _opened: "WeakValueDictionary[Any, Any]" = WeakValueDictionary()

    def __init__(self, *paths: Union[str, os.PathLike]) -> None:
        self._paths = tuple(map(absolute_path, paths))

    @classmethod
    def open(cls, *paths: Union[str, os.PathLike]) -> Self:
        """
        Opens the files, unless they are open: as long as an object for the same files is referenced
        in this process, returns that. Raises the constructor's errors.
        """
        key = (cls, *map(_identify, map(str, paths)))
        opened: Self = cls._opened.get(key) or cls(*paths)
        cls._opened[key] = opened
        return opened

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self).open, self._paths

    def __deepcopy__(self, memo: Dict[int, Any]) -> Self:
        return self


def _identify(path: str) -> Tuple[Any, ...]:
    # The constructor reports a missing file. A file in an archive is identified by its URI alone.
    with suppress(InvalidFileError):
        file = os.path.realpath(resolve_path(path, "", ""))
        stat = os.stat(file)
        return file, stat.st_size, stat.st_mtime_ns
    return (path,)
