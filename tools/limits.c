/* Runs a program that nobody has looked at, within limits:
 *
 *     limits SECONDS MEGABYTES kill|refuse|allow PROGRAM [ARGUMENT…]
 *
 * SECONDS of its own work, however busy the machine is, and ten times as long
 * by the clock; MEGABYTES for each file that it writes, its output among them.
 * It may start threads, and no process: where it tries to, it is ended (kill),
 * or told that it cannot (refuse). So nothing of it is left behind. A compiler
 * may (allow), and its group is killed at the end. It may have 2 GB of memory,
 * which are not counted with `refuse`: ThreadSanitizer takes most addresses.
 *
 * Ends as the program does, or with 128 + the signal that ended it; with 124
 * when the time by the clock was up, 125 when it could not be started. This
 * keeps mistakes within bounds, and is no wall against malice. */
#define _DEFAULT_SOURCE 1
#define _DARWIN_C_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

static pid_t child;
static volatile sig_atomic_t got; /* the last signal */

static void set(int what, double most)
{
    struct rlimit limit;

    limit.rlim_cur = (rlim_t)most;
    limit.rlim_max = (rlim_t)most;
    if (what == RLIMIT_CPU) /* at the first it is told which limit, … */
        limit.rlim_max++;   /* … and at the second it is killed */
    setrlimit(what, &limit);
}

#if defined __x86_64__ && defined __linux__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__ && defined __linux__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE
#define LOAD(member)                                                           \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF(test, value, skip) BPF_JUMP(BPF_JMP | (test) | BPF_K, value, 0, skip)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, value)

/* The kernel looks at each system call: fork, vfork, and clone without the flag
 * of a thread. The flags of clone3 lie in memory, where it cannot look; without
 * clone3 the C library uses clone. Where a kernel cannot do it, tools/grade.sh
 * says so. */
static void no_processes(int refuse)
{
    const unsigned thread = 0x00010000; /* CLONE_THREAD */
    const unsigned no =
        refuse ? SECCOMP_RET_ERRNO | EAGAIN : SECCOMP_RET_KILL_PROCESS;
    struct sock_filter rules[] = {
        LOAD(arch),
        IF(BPF_JEQ, ARCHITECTURE, 9),
        LOAD(nr),
        IF(BPF_JEQ, 435, 1), /* clone3, on all machines */
        ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
#ifdef __NR_fork
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fork, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_vfork, 4, 0),
#else
        BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0),
        BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0),
#endif
        IF(BPF_JEQ, __NR_clone, 2),
        LOAD(args[0]), /* on both machines the low half comes first */
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, thread, 0, 1),
        ANSWER(SECCOMP_RET_ALLOW),
        ANSWER(no),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#else
/* Elsewhere threads are not counted as processes, and each user has one. */
static void no_processes(int refuse)
{
    (void)refuse;
#ifndef __linux__
    set(RLIMIT_NPROC, 1);
#endif
}
#endif

static void stop(int signal)
{
    got = signal;
    kill(-child, SIGKILL);
    kill(child, SIGKILL); /* for an instant it leads no group */
}

/* Who starts a program in the background has it ignore Ctrl-C. */
static void stop_at(int signal)
{
    struct sigaction action;

    sigaction(signal, NULL, &action);
    if (action.sa_handler == SIG_IGN)
        return;
    memset(&action, 0, sizeof action);
    action.sa_handler = stop;
    sigaction(signal, &action, NULL);
}

int main(int count, char **words)
{
    int refuse, status, seconds;
    double megabytes;

    if (count < 5)
        return 125;
    seconds = atoi(words[1]);
    megabytes = atof(words[2]);
    refuse = strcmp(words[3], "refuse") == 0;
    child = fork();
    if (child == 0) {
        setsid();
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
#endif
        set(RLIMIT_CPU, seconds);
        set(RLIMIT_FSIZE, megabytes * 1048576);
        set(RLIMIT_CORE, 0);
        if (!refuse)
            set(RLIMIT_AS, 2048.0 * 1048576);
        if (strcmp(words[3], "allow") != 0)
            no_processes(refuse);
        execvp(words[4], words + 4);
        perror(words[4]);
        _exit(125);
    }
    stop_at(SIGALRM);
    stop_at(SIGINT);
    stop_at(SIGTERM);
    stop_at(SIGHUP);
    alarm((unsigned)seconds * 10);
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 125;
    if (child < 0)
        return 125;
    kill(-child, SIGKILL);
    if (got == SIGALRM)
        return 124;
    if (got) { /* who has called this is to end, too */
        signal(got, SIG_DFL);
        raise(got);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
