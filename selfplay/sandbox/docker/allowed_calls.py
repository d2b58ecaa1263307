"""System calls that the filter of a container's engine allows.

All of Linux 6.7 on x86_64 and aarch64 (the names that libseccomp knows), but not those of `system_calls.DENIED`, nor
those that are answered without being made (`ANSWERED`), and not what engines refuse by default to a process without
capabilities: calls long gone from kernels, where memory lies (NUMA), names of the host, another process's memory. A
list of what is allowed, so that a call that is new, or unknown to an old engine's libseccomp, is refused.
"""

ALLOWED = """
accept accept4 access alarm arch_prctl bind brk cachestat capget capset chdir chmod chown clock_getres clock_gettime
clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl
epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64
fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchownat fgetxattr flistxattr flock
fork fremovexattr fsetxattr fstat fstatfs ftruncate futex futex_requeue futex_wait futex_waitv futex_wake
futimesat get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer
getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsockname
gettid gettimeofday getuid getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel
io_destroy io_getevents io_pgetevents io_submit ioprio_get kill landlock_add_rule landlock_create_ruleset
landlock_restrict_self lchown lgetxattr link linkat listen listxattr llistxattr lremovexattr lseek lsetxattr lstat
madvise map_shadow_stack membarrier mincore mkdir mkdirat mknod mknodat mlock mlock2
mlockall mprotect mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget
msgrcv msgsnd munlock munlockall munmap nanosleep newfstatat open openat openat2 pause pidfd_open
pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll pread64 preadv preadv2 process_mrelease
pselect6 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg remap_file_pages
removexattr rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask
rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max
sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
sched_yield select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto set_robust_list set_thread_area
set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setregid setresgid setresuid setreuid
setsid setuid setxattr shmat shmctl shmdt shutdown sigaltstack signalfd signalfd4 splice stat statfs statx
symlink symlinkat sysinfo tee tgkill time timer_create timer_delete timer_getoverrun
timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask uname unlink
unlinkat utime utimensat utimes vfork vmsplice wait4 waitid write writev
"""

DEFAULT_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
"""Linux, Linux with 32-bit addresses, each with the old version's name; and the question what it is. Others make memory
easier to attack."""
