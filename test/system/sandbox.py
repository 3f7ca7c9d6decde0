"""A seccomp filter for the programs that tests start: one system call fails, as in the sandboxes of containers."""
import ctypes
import struct

PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_ERRNO = 0x00050000
SECCOMP_RET_ALLOW = 0x7FFF0000
# On every architecture.
IO_URING_SETUP = 425
IO_URING_ENTER = 426
IO_URING_REGISTER = 427
EPOLL_PWAIT2 = 441


class FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def deny(*calls, error):
    """Makes system calls of this process, and of what it starts, fail with @error."""
    code = struct.pack("HBBI", 0x20, 0, 0, 0)  # load the number of the system call
    for call in calls:
        code += struct.pack("HBBI", 0x15, 0, 1, call)
        code += struct.pack("HBBI", 0x06, 0, 0, SECCOMP_RET_ERRNO | error)
    code += struct.pack("HBBI", 0x06, 0, 0, SECCOMP_RET_ALLOW)
    libc = ctypes.CDLL(None, use_errno=True)
    memory = ctypes.create_string_buffer(code, len(code))
    program = FilterProgram(len(code) // 8, ctypes.cast(memory, ctypes.c_void_p))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(
            PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
