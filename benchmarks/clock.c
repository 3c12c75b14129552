/* Preloaded: adds the seconds in the file CLOCK_OFFSET_FILE (a native long) to the time of day that a process reads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>

enum { LOOK_NS = 200000000 };

static long offset(void) {
    static volatile long *shared;
    if (!shared) shared = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, open(getenv("CLOCK_OFFSET_FILE"), O_RDONLY), 0);
    return *shared;
}

int clock_gettime(clockid_t clock, struct timespec *out) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, out);
    if (!code && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += offset();
    return code;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

/* A wait ends when the shifted clock has reached its deadline: a step back makes it longer, as with a real clock.
   Deadlines of the monotonic clock are small numbers. */
static int wait_until(int (*real)(void *, void *, const struct timespec *), int timed_out, void *cond, void *mutex,
                      const struct timespec *until) {
    if (until->tv_sec < 1000000000) return real(cond, mutex, until);
    for (;;) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        long long left = (until->tv_sec - now.tv_sec) * 1000000000LL + until->tv_nsec - now.tv_nsec;
        int is_last = left <= LOOK_NS;
        now.tv_sec -= offset();
        now.tv_nsec += left < 0 ? 0 : is_last ? left : LOOK_NS;
        now.tv_sec += now.tv_nsec / 1000000000L;
        now.tv_nsec %= 1000000000L;
        int code = real(cond, mutex, &now);
        if (code != timed_out || is_last) return code;
    }
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    static void *real;
    if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    return wait_until(real, ETIMEDOUT, cond, mutex, until);
}

int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex, const struct timespec *restrict until) {
    static void *real;
    if (!real) real = dlsym(RTLD_NEXT, "cnd_timedwait");
    return wait_until(real, thrd_timedout, cond, mutex, until);
}
