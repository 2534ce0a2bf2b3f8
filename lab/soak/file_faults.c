/* Counts what a process does to the files below a folder, and breaks it at a chosen one: see lab/soak/file_faults.py.

   Loaded by LD_PRELOAD. Operations are numbered from 1, in the order in which they begin; all threads wait while one is
   at work. The environment says what happens:

     FILE_FAULTS_ROOT     the folder; operations elsewhere do not count
     FILE_FAULTS_PROGRAM  name of the program that is counted (such as java); others pass, until there is no room
     FILE_FAULTS_LOG      a file that gets one line per operation: number, operation, path
     FILE_FAULTS_KILL     number of the operation in place of which the process gets SIGKILL
     FILE_FAULTS_FAIL     from this operation on, whatever needs room fails, in any program: errno ENOSPC
     FILE_FAULTS_FULL     a file outside the folder that is made at that operation, so that other programs know
     FILE_FAULTS_COPIES   a folder: before operations the root is copied to COPIES/NUMBER, as a kill would leave it
     FILE_FAULTS_EVERY    copies are made before each operation with a number that this divides (1)
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 65536

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static const char *root, *copies, *full;
static size_t root_length;
static long number, kill_at, fail_from, every;
static int log_file = -1, counts;
static char *paths[MANY]; /* of the descriptors that are open below the root for writing */

static long number_of(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *program = getenv("FILE_FAULTS_PROGRAM"), *log = getenv("FILE_FAULTS_LOG");
    if (!getenv("FILE_FAULTS_ROOT")) return;
    counts = !program || !strcmp(program, program_invocation_short_name);
    root = strdup(getenv("FILE_FAULTS_ROOT"));
    root_length = strlen(root);
    kill_at = number_of("FILE_FAULTS_KILL");
    fail_from = number_of("FILE_FAULTS_FAIL");
    copies = getenv("FILE_FAULTS_COPIES");
    full = getenv("FILE_FAULTS_FULL");
    every = number_of("FILE_FAULTS_EVERY");
    if (every < 1) every = 1;
    if (log) log_file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_below(const char *path) {
    return root && path && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static void copy_root(void) {
    char target[4096];
    char *environment[] = {"PATH=/usr/bin:/bin", NULL};
    snprintf(target, sizeof target, "%s/%ld", copies, number);
    char *command[] = {"cp", "-a", (char *)root, target, NULL};
    pid_t pid;
    if (!posix_spawn(&pid, "/bin/cp", NULL, NULL, command, environment)) waitpid(pid, NULL, 0);
}

/* Whether the operation that begins now is to fail; the lock is held from here until `end`. */
static int fails(const char *operation, const char *path, int needs_room) {
    if (!is_below(path)) return 0;
    if (!counts) return needs_room && full && !access(full, F_OK);
    pthread_mutex_lock(&lock);
    number++;
    if (log_file >= 0) {
        char line[4096];
        int length = snprintf(line, sizeof line, "%ld %s %s\n", number, operation, path);
        if (write(log_file, line, length) < 0) log_file = -1;
    }
    if (copies && number % every == 0) copy_root();
    if (number == kill_at) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    if (full && number == fail_from) close(creat(full, 0600));
    return needs_room && fail_from && number >= fail_from;
}

static void end(const char *path) {
    int error = errno;
    if (counts && is_below(path)) pthread_mutex_unlock(&lock);
    errno = error;
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))
#define GUARDED(operation, path, needs_room, call)             \
    do {                                                       \
        __typeof__(call) outcome = -1;                         \
        if (fails(operation, path, needs_room)) errno = ENOSPC; \
        else outcome = (call);                                 \
        end(path);                                             \
        return outcome;                                        \
    } while (0)

static int opened(int descriptor, const char *path) {
    if (descriptor >= 0 && descriptor < MANY) {
        free(paths[descriptor]);
        paths[descriptor] = strdup(path);
    }
    return descriptor;
}

static const char *path_of(int descriptor) {
    return descriptor >= 0 && descriptor < MANY ? paths[descriptor] : NULL;
}

#define OPENING(name)                                                                     \
    int name(const char *path, int flags, ...) {                                          \
        va_list rest;                                                                     \
        va_start(rest, flags);                                                            \
        int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, int) : 0;               \
        va_end(rest);                                                                     \
        if (!(flags & (O_WRONLY | O_RDWR))) return REAL(name)(path, flags, mode);         \
        GUARDED(flags & O_CREAT ? "create" : "open", path, flags & O_CREAT,               \
                is_below(path) ? opened(REAL(name)(path, flags, mode), path) : REAL(name)(path, flags, mode)); \
    }
OPENING(open)
OPENING(open64)

ssize_t write(int descriptor, const void *bytes, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    const char *path = path_of(descriptor);
    if (!real) real = REAL(write);
    if (!path) return real(descriptor, bytes, size);
    GUARDED("write", path, 1, real(descriptor, bytes, size));
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t at) {
    const char *path = path_of(descriptor);
    if (!path) return REAL(pwrite64)(descriptor, bytes, size, at);
    GUARDED("write", path, 1, REAL(pwrite64)(descriptor, bytes, size, at));
}

int close(int descriptor) {
    static int (*real)(int);
    if (!real) real = REAL(close);
    if (descriptor >= 0 && descriptor < MANY && paths[descriptor]) {
        char *path = paths[descriptor];
        paths[descriptor] = NULL;
        free(path);
    }
    return real(descriptor);
}

int dup2(int from, int to) {
    static int (*real)(int, int);
    if (!real) real = REAL(dup2);
    if (to >= 0 && to < MANY && paths[to]) {
        free(paths[to]);
        paths[to] = NULL;
    }
    return real(from, to);
}

int rename(const char *from, const char *to) { GUARDED("rename", to, 0, REAL(rename)(from, to)); }
int link(const char *from, const char *to) { GUARDED("link", to, 1, REAL(link)(from, to)); }
int unlink(const char *path) { GUARDED("unlink", path, 0, REAL(unlink)(path)); }
int remove(const char *path) { GUARDED("remove", path, 0, REAL(remove)(path)); }
int rmdir(const char *path) { GUARDED("rmdir", path, 0, REAL(rmdir)(path)); }
int mkdir(const char *path, mode_t mode) { GUARDED("mkdir", path, 1, REAL(mkdir)(path, mode)); }
int chmod(const char *path, mode_t mode) { GUARDED("chmod", path, 0, REAL(chmod)(path, mode)); }
