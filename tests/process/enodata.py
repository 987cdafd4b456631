"""Makes reads of a file fail with ENODATA, as the driver's attributes do while a chip is being reset, and runs a command beside it.
Usage: enodata.py FILE COMMAND ARGUMENTS...

The file is covered by a file system of its own (FUSE; numbers and layouts from the kernel's include/uapi/linux/fuse.h), in the caller's
mount namespace, which must be one of its own: the mount ends with it.
"""
import ctypes
import errno
import os
import signal
import struct
import sys

GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 3, 14, 15, 18, 25, 26
FORGET, BATCH_FORGET = 2, 42    # have no answer
REGULAR, DIRECT_IO = 0o100444, 1
ATTRIBUTES = struct.pack("<QII QQQ QQQ III IIIIIII", 60, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, REGULAR, 1, 0, 0, 0, 4096, 0)
NO_DATA = {RELEASE: b"", FLUSH: b"", GETATTR: ATTRIBUTES, OPEN: struct.pack("<QII", 1, DIRECT_IO, 0)}


def answer_to(operation, body):
    """(error, data) of a request."""
    if operation == INIT:
        major, minor = struct.unpack_from("<II", body)
        return 0, struct.pack("<IIIIHHIIHHI28x", major, min(minor, 31), 0, 0, 0, 0, 4096, 1, 0, 0, 0)
    if operation == READ:
        return errno.ENODATA, b""
    return (0, NO_DATA[operation]) if operation in NO_DATA else (errno.ENOSYS, b"")


def serve(device):
    while True:
        try:
            request = os.read(device, 1 << 17)
        except OSError as error:
            if error.errno in (errno.ENODEV, errno.EBADF):
                return    # unmounted
            continue
        _, operation, unique = struct.unpack_from("<IIQ", request)
        if operation in (FORGET, BATCH_FORGET):
            continue
        error, data = answer_to(operation, request[40:])
        os.write(device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)


def main():
    path, command = sys.argv[1], sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode={REGULAR:o},user_id=0,group_id=0,allow_other"
    if libc.mount(b"enodata", path.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(f"{path} cannot be covered: {os.strerror(ctypes.get_errno())}")
    parent = os.getpid()
    if os.fork() == 0:
        libc.prctl(1, signal.SIGKILL)    # PR_SET_PDEATHSIG: it ends with the command
        if os.getppid() != parent:
            os._exit(1)
        for fd in (0, 1, 2):    # what waits for the command's output does not wait for this process
            os.close(fd)
        serve(device)
        os._exit(0)
    os.close(device)
    os.execvp(command[0], command)


main()
