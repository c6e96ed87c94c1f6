"""
`python -m tests.reliability.watched PLACE EVENT SIGNAL SIZE COMMAND …` runs an `allennlp` command,
whose temporary files are in PLACE.tmp. It gets a signal before the EVENT-th operation on a file in
PLACE. Writing beyond SIZE bytes, if that is not negative, fails as on a full disk. PLACE.usage gets
the operations, the milliseconds, the kilobytes of memory and the open files at the end.
"""

import os
import resource
import runpy
import signal
import sys
import tempfile
import time

OPERATIONS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}

place, *numbers = sys.argv[1:5]
event, number, size = map(int, numbers)
usage = os.open(f"{place}.usage", os.O_WRONLY)
process = os.getpid()
started = time.monotonic()
count = 0


def watch(name, arguments):
    global count
    if name not in OPERATIONS or os.getpid() != process:
        return
    if name == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        return
    # Trees are removed with names relative to a descriptor.
    path = arguments[0]
    if isinstance(path, str) and (path.startswith(place) or not os.path.isabs(path)):
        count += 1
        if count == event:
            os.kill(process, number)


os.setpgid(0, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)
tempfile.tempdir = f"{place}.tmp"
if size >= 0:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
sys.addaudithook(watch)
sys.argv = ["allennlp", *sys.argv[5:]]
try:
    runpy.run_module("allennlp", run_name="__main__", alter_sys=True)
finally:
    if os.getpid() == process:
        milliseconds = int(1000 * (time.monotonic() - started))
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        open_files = len(os.listdir("/proc/self/fd"))
        os.write(usage, f"{count} {milliseconds} {kilobytes} {open_files}".encode())
