"""Numbers of system calls by name, from the kernel's tables (x86's `syscall_64.tbl`, `asm-generic/unistd.h`).

This is a table because libseccomp may be missing at run time: its package on the index (pyseccomp, one file of January
2021) loads a shared library that a machine may lack and that a user without root cannot install. If there is a
libseccomp, `tests/sandbox/test_seccomp.py` asks it about every number. A number never changes once assigned.
"""

MACHINES = ("x86_64", "aarch64")

# Calls that the filter decides by argument, and `clone3`, which it hides.
INSPECTED = """
clone       56 220
clone3     435 435
fcntl       72  25
getsockopt  55 209
ioctl       16  29
ioprio_set 251  30
memfd_create 319 279
mmap         9 222
prctl      157 167
prlimit64  302 261
sched_setaffinity  203 122
sched_setattr      314 274
sched_setparam     142 118
sched_setscheduler 144 119
setpriority        141 140
socket      41 198
setrlimit  160 164
setsockopt  54 208
shmget      29 194
socketpair  53 199
"""

# Calls that are answered as if they were made. They make the host write out what its file systems have in memory, or at
# least tell its disk to, also for a file that may only be read; nothing in a sandbox outlives the machine.
ANSWERED = """
fdatasync        75  83
fsync            74  82
msync            26 227
sync            162  81
sync_file_range 277  84
syncfs          306 267
"""

# Calls that no build, test or model command needs. A minus: the machine has no such call.
DENIED = """
acct              163  89
add_key           248 217
adjtimex          159 171
bpf               321 280
chroot            161  51
clock_adjtime     305 266
clock_settime     227 112
delete_module     176 106
fanotify_init     300 262
finit_module      313 273
fsconfig          431 431
fsmount           432 432
fsopen            430 430
fspick            433 433
init_module       175 105
io_setup          206   0
io_uring_enter    426 426
io_uring_register 427 427
io_uring_setup    425 425
ioperm            173   -
iopl              172   -
kcmp              312 272
kexec_file_load   320 294
kexec_load        246 104
keyctl            250 219
listmount         458 458
mbind             237 235
memfd_secret      447 447
migrate_pages     256 238
modify_ldt        154   -
mount             165  40
mount_setattr     442 442
move_mount        429 429
move_pages        279 239
name_to_handle_at 303 264
open_by_handle_at 304 265
open_tree         428 428
open_tree_attr    467 467
perf_event_open   298 241
pidfd_getfd       438 438
pivot_root        155  41
process_vm_readv  310 270
process_vm_writev 311 271
ptrace            101 117
quotactl          179  60
quotactl_fd       443 443
reboot            169 142
request_key       249 218
seccomp           317 277
set_mempolicy     238 237
set_mempolicy_home_node 450 450
setns             308 268
settimeofday      164 170
statmount         457 457
swapoff           168 225
swapon            167 224
syslog            103 116
umount2           166  39
unshare           272  97
userfaultfd       323 282
vhangup           153  58
"""


def numbers(table: str, machine: str) -> dict[str, int]:
    """A table's calls on one of `MACHINES`: name -> number, without calls that the machine lacks."""
    column = 1 + MACHINES.index(machine)
    rows = [line.split() for line in table.split("\n") if line]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
