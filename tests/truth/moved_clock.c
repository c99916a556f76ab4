/* SPDX-License-Identifier: BSD-3-Clause */
/* A time of the day that is the machine's and so many nanoseconds more, which the first 8 bytes of
 * the file TRIP_MOVED_CLOCK say at any moment. Preloaded: what goes by it knows nothing of that. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int (*machines)(clockid_t clock, struct timespec *time);
static _Atomic int64_t *moved;

static void
open_once(void)
{
	static _Atomic int64_t not_moved;
	const char *path = getenv("TRIP_MOVED_CLOCK");
	int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *page =
		fd >= 0 ? mmap(NULL, sizeof(*moved), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (fd >= 0)
		close(fd);
	machines = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	moved = page != MAP_FAILED ? page : &not_moved;
}

__attribute__((visibility("default"))) int
clock_gettime(clockid_t clock, struct timespec *time)
{
	int64_t ns;
	int error;

	pthread_once(&once, open_once);
	error = machines(clock, time);
	if (error != 0 || clock != CLOCK_REALTIME)
		return error;
	ns = time->tv_sec * SECOND + time->tv_nsec +
	     atomic_load_explicit(moved, memory_order_relaxed);
	time->tv_sec = ns / SECOND;
	time->tv_nsec = ns % SECOND;
	return 0;
}
