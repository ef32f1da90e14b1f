/* A disk that can fail, be slow, and be written down: loaded in front of the C library by
   stress/disk.py. Only what happens in one folder, which is the current one, is touched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long count, fail_at, delay;
static int fail_with, for_ever, reads_too, record = -1;

/* Which call fails (0: none), how, whether all later ones do, and whether reads count. */
void disk_arm(const char *where, long at, int with, int ever, int reads, long wait, int log) {
  strncpy(folder, where, sizeof folder - 1);
  count = 0, fail_at = at, fail_with = with, for_ever = ever, reads_too = reads, delay = wait;
  record = log;
}

long disk_count(void) { return count; }

#define NEXT(name) static __typeof__(name) *next; if (!next) next = dlsym(RTLD_NEXT, #name)

static int within(const char *path) {
  if (!folder[0] || !path) return 0;
  return path[0] != '/' || strncmp(path, folder, strlen(folder)) == 0;
}

static int path_of(int fd, char *path) {
  char link[64] = "/proc/self/fd/", digits[16];
  int n = 0;
  char *end = link + strlen(link);
  if (!folder[0] || fd < 0 || fd == record) return 0;
  do digits[n++] = '0' + fd % 10; while (fd /= 10);
  while (n) *end++ = digits[--n];
  *end = 0;
  ssize_t size = syscall(SYS_readlink, link, path, PATH_MAX - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return path[0] == '/' && within(path);
}

static int fails(void) {
  count++;
  if (delay) usleep(delay);
  if (!fail_at || count < fail_at || (count > fail_at && !for_ever)) return 0;
  errno = fail_with;
  return 1;
}

static void put(const void *what, size_t size) {
  const char *at = what;
  while (size) {
    ssize_t done = syscall(SYS_write, record, at, size);
    if (done <= 0) return;
    at += done, size -= done;
  }
}

static void note(char kind, const char *path, const char *more, int64_t offset, const void *data,
                 int64_t size) {
  if (record < 0) return;
  char whole[2 * PATH_MAX];
  whole[0] = 0;
  if (path[0] != '/') strcpy(whole, folder), strcat(whole, "/");
  strcat(whole, path);
  int64_t long_path = strlen(whole), long_more = more ? strlen(more) : 0;
  put(&kind, 1), put(&long_path, 8), put(whole, long_path), put(&long_more, 8);
  put(more, long_more), put(&offset, 8), put(&size, 8);
  if (data) put(data, size);
}

static int opened(const char *path, int flags, int mode, int (*next)(const char *, int, ...)) {
  int writes = (flags & O_ACCMODE) != O_RDONLY;
  if (within(path) && (writes || reads_too) && fails()) return -1;
  int there = !within(path) || syscall(SYS_access, path, F_OK) == 0;
  int fd = next(path, flags, mode);
  if (fd >= 0 && within(path) && writes) {
    if (!there) note('C', path, 0, 0, 0, 0);
    else if (flags & O_TRUNC) note('T', path, 0, 0, 0, 0);
  }
  return fd;
}

#define OPEN(name)                                                   \
  int name(const char *path, int flags, ...) {                       \
    NEXT(name);                                                      \
    va_list rest;                                                    \
    va_start(rest, flags);                                           \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0; \
    va_end(rest);                                                    \
    return opened(path, flags, mode, next);                          \
  }
OPEN(open)
OPEN(open64)

#define WRITE_AT(name, kind)                                              \
  ssize_t name(int fd, const void *data, size_t size, kind at) {          \
    NEXT(name);                                                           \
    char path[PATH_MAX];                                                  \
    int ours = path_of(fd, path);                                         \
    if (ours && fails()) return -1;                                       \
    ssize_t done = next(fd, data, size, at);                              \
    if (ours && done > 0) note('W', path, 0, at, data, done);             \
    return done;                                                          \
  }
WRITE_AT(pwrite, off_t)
WRITE_AT(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t size) {
  NEXT(write);
  char path[PATH_MAX];
  int ours = path_of(fd, path);
  if (ours && fails()) return -1;
  int64_t at = ours ? lseek(fd, 0, SEEK_CUR) : 0;
  ssize_t done = next(fd, data, size);
  if (ours && done > 0) note('W', path, 0, at, data, done);
  return done;
}

ssize_t read(int fd, void *data, size_t size) {
  NEXT(read);
  char path[PATH_MAX];
  if (reads_too && path_of(fd, path) && fails()) return -1;
  return next(fd, data, size);
}

#define READ_AT(name, kind)                                      \
  ssize_t name(int fd, void *data, size_t size, kind at) {       \
    NEXT(name);                                                  \
    char path[PATH_MAX];                                         \
    if (reads_too && path_of(fd, path) && fails()) return -1;    \
    return next(fd, data, size, at);                             \
  }
READ_AT(pread, off_t)
READ_AT(pread64, off64_t)

#define SYNC(name)                                     \
  int name(int fd) {                                   \
    NEXT(name);                                        \
    char path[PATH_MAX];                               \
    int ours = path_of(fd, path);                      \
    if (ours && fails()) return -1;                    \
    int done = next(fd);                               \
    if (ours && !done) note('S', path, 0, 0, 0, 0);    \
    return done;                                       \
  }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name, kind)                              \
  int name(int fd, kind size) {                           \
    NEXT(name);                                           \
    char path[PATH_MAX];                                  \
    int ours = path_of(fd, path);                         \
    if (ours && fails()) return -1;                       \
    int done = next(fd, size);                            \
    if (ours && !done) note('T', path, 0, size, 0, 0);    \
    return done;                                          \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int unlink(const char *path) {
  NEXT(unlink);
  if (within(path) && fails()) return -1;
  int done = next(path);
  if (!done && within(path)) note('U', path, 0, 0, 0, 0);
  return done;
}

int rename(const char *path, const char *to) {
  NEXT(rename);
  if (within(path) && fails()) return -1;
  int done = next(path, to);
  if (!done && within(path)) note('R', path, to, 0, 0, 0);
  return done;
}

int mkdir(const char *path, mode_t mode) {
  NEXT(mkdir);
  if (within(path) && fails()) return -1;
  return next(path, mode);
}
