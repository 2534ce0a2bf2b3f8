"""A FUSE file system that takes what mounts of buckets take, for tests: `python tests/bucket_mount.py STORED MOUNT [WITHOUT…]`.

Files are written once, from their beginning to their end, and are replaced whole. Refused are opening to append,
opening what exists to write to it and not anew, writing anywhere but at the end, links, and locks. WITHOUT names
what is left out besides:

    rename  | refused; else files are renamed, replacing what is there, and folders are not
    chmod   | refused; else it does nothing, as on most mounts
    refusal | of locks: the kernel grants them then, which the other machines of a mount never learn of

Needs mfusepy, and libfuse 3, which lets a file system see that a file is opened anew. It ends when it is unmounted.
"""

import errno
import os
import sys
from typing import Any

os.environ["FUSE_LIBRARY_NAME"] = "fuse3"
import mfusepy


def _refuse(*_: Any, **__: Any) -> int:
    raise mfusepy.FuseOSError(errno.ENOTSUP)


def _do_nothing(*_: Any) -> int:
    return 0


class BucketMount(mfusepy.Operations):
    """Passes on to a folder what is not refused.

    Args:
        stored: the folder.
        without: see the module.
    """

    use_ns = True
    link = symlink = mknod = setxattr = fallocate = _refuse
    chown = utimens = fsync = flush = _do_nothing

    def __init__(self, stored: str, without: frozenset[str]) -> None:
        self.stored = stored
        if "rename" in without:
            self.rename = _refuse
        self.chmod = _refuse if "chmod" in without else _do_nothing
        if "refusal" not in without:
            self.lock = self.flock = _refuse

    def _path(self, path: str) -> str:
        return self.stored + path

    def open(self, path: str, fi: Any) -> int:
        is_read = fi.flags & os.O_ACCMODE == os.O_RDONLY
        if not is_read and (fi.flags & os.O_APPEND or not fi.flags & os.O_TRUNC):
            return _refuse()
        fi.fh = os.open(self._path(path), os.O_RDONLY if is_read else os.O_RDWR | os.O_TRUNC)
        return 0

    def create(self, path: str, mode: int, fi: Any) -> int:
        if fi.flags & os.O_APPEND:
            return _refuse()
        fi.fh = os.open(self._path(path), os.O_RDWR | os.O_CREAT | fi.flags & os.O_EXCL, mode)
        return 0

    def write(self, path: str, data: bytes, offset: int, fi: Any) -> int:
        return os.pwrite(fi.fh, data, offset) if offset == os.fstat(fi.fh).st_size else _refuse()

    def truncate(self, path: str, length: int, fi: Any = None) -> int:
        if length:
            return _refuse()
        os.truncate(self._path(path), 0)
        return 0

    def read(self, path: str, size: int, offset: int, fi: Any) -> bytes:
        return os.pread(fi.fh, size, offset)

    def release(self, path: str, fi: Any) -> int:
        os.close(fi.fh)
        return 0

    def getattr(self, path: str, fi: Any = None) -> dict[str, Any]:
        found = os.lstat(self._path(path))
        same = {name: getattr(found, name) for name in ("st_mode", "st_nlink", "st_size", "st_uid", "st_gid")}
        return {**same, **{f"st_{name}time": getattr(found, f"st_{name}time_ns") for name in "amc"}}

    def readdir(self, path: str, fi: Any) -> list[str]:
        return [".", "..", *os.listdir(self._path(path))]

    def mkdir(self, path: str, mode: int) -> int:
        os.mkdir(self._path(path), mode)
        return 0

    def rmdir(self, path: str) -> int:
        os.rmdir(self._path(path))
        return 0

    def unlink(self, path: str) -> int:
        os.unlink(self._path(path))
        return 0

    def rename(self, old: str, new: str) -> int:
        if os.path.isdir(self._path(old)):
            return _refuse()
        os.replace(self._path(old), self._path(new))
        return 0

    def statfs(self, path: str) -> dict[str, int]:
        found = os.statvfs(self.stored)
        return {name: getattr(found, name) for name in ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail")}


if __name__ == "__main__":
    folder, place, *left_out = sys.argv[1:]
    mount = BucketMount(os.path.abspath(folder), frozenset(left_out))
    mfusepy.FUSE(mount, place, foreground=True, raw_fi=True, fsname="bucket")
