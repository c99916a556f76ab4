/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hardware engine asks the system for: a thread, locks, sleep and time. */
#include <errno.h>
#include <string.h>

#include "nic_seam.h"

#include "hard.h"
#include "nic_inside.h"

/* Ticks within which a thread whose sleep is over has its turn. */
#define WAKES 65536

uint64_t
nic_tsc(void)
{
	return sim_now();
}

int
nic_lock(pthread_mutex_t *mutex)
{
	while (atomic_exchange((_Atomic uint32_t *)mutex, 1) != 0) {
		nic.is_lock_wanted = true;
		sim_pause();
	}
	return 0;
}

/* Who waits for the lock may have it, and others find what was done under it. Where the worker had
 * it last, and nothing was done since, it notes what its readings cost, as it does again and again
 * for as long as it reads: nobody has to find that. */
int
nic_unlock(pthread_mutex_t *mutex)
{
	bool works = sim_self() == nic.worker;

	atomic_store((_Atomic uint32_t *)mutex, 0);
	if (!works || nic.is_lock_wanted || sim_progresses() != nic.noted)
		sim_progress();
	nic.is_lock_wanted = false;
	if (works)
		nic.noted = sim_progresses();
	return 0;
}

int
nic_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	uint32_t before = atomic_load((_Atomic uint32_t *)cond);

	nic_unlock(mutex);
	for (;;) {
		sim_op("waits for the worker");
		if (atomic_load((_Atomic uint32_t *)cond) != before)
			return nic_lock(mutex);
		sim_pause();
	}
}

int
nic_signal(pthread_cond_t *cond)
{
	atomic_fetch_add((_Atomic uint32_t *)cond, 1);
	sim_progress();
	return 0;
}

static struct {
	TRIP_COMPAT_THREAD_RESULT (*run)(void *arg);
	void *arg;
} thread_made;

static void
run_thread(void *arg)
{
	(void)thread_made.run(thread_made.arg);
}

int
nic_thread(trip_compat_thread *thread, const char *name,
	TRIP_COMPAT_THREAD_RESULT (*run)(void *arg), void *arg)
{
	thread_made.run = run;
	thread_made.arg = arg;
	nic.worker = sim_spawn("worker", false, run_thread, NULL);
	return 0;
}

void
nic_join(trip_compat_thread thread)
{
	while (!sim_has_ended(nic.worker))
		sim_pause();
	sim_join(nic.worker);
}

int
nic_nanosleep(const struct timespec *time, struct timespec *left)
{
	sim_pause();
	return 0;
}

int
nic_eventfd(unsigned int value, int flags)
{
	return 1000;
}

int
nic_close(int fd)
{
	return 0;
}

ssize_t
nic_write(int fd, const void *from, size_t size)
{
	atomic_fetch_add(&nic.wakes, 1);
	sim_progress();
	return (ssize_t)size;
}

ssize_t
nic_read(int fd, void *to, size_t size)
{
	uint64_t wakes = atomic_exchange(&nic.wakes, 0);

	memcpy(to, &wakes, sizeof(wakes));
	return wakes != 0 ? (ssize_t)size : -1;
}

/* What the worker has served, lost and read, homes may find; and a driver that tells, its turn. */
void
nic_note_progress(void)
{
	const struct trip_hard *hard = trip_hard_current;
	bool looks = sim_look(true);
	uint64_t done = atomic_load(&hard->desk.served) + atomic_load(&hard->stats->lost);
	uint64_t turn = nic_turn();

	(void)sim_look(looks);
	/* Turns alone are nothing to find: there is always one more. But whoever tells of an event
	 * waits for the next. */
	if (done != nic.done || nic.has_read || (nic.tells && turn != nic.turn))
		sim_progress();
	nic.done = done;
	nic.turn = turn;
	nic.has_read = false;
}

uint64_t
nic_turn(void)
{
	bool looks = sim_look(true);
	uint64_t turn = atomic_load(&trip_hard_current->turns);

	(void)sim_look(looks);
	return 1 + turn;
}

/* Something was counted that is still to be read. */
static bool
is_behind(void)
{
	for (uint32_t f = 0; f < NIC_FLOWS; f++) {
		const struct nic_flow *flow = &nic.flows[f];

		if (!nic_is_vague(flow) && flow->counted != flow->read + flow->unread)
			return true;
	}
	return false;
}

void
nic_interrupt(uint32_t every)
{
	nic.interrupts_every = every;
}

/* Nothing has come for it, but a signal has. */
static bool
is_interrupted(void)
{
	if (nic.interrupts_every == 0 || ++nic.n_sleeps % nic.interrupts_every != 0 ||
		atomic_load(&nic.wakes) != 0)
		return false;
	sim_tell("a signal comes");
	return true;
}

int
nic_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask)
{
	uint64_t until = UINT64_MAX;

	if (limit != NULL)
		until = sim_now() + (uint64_t)limit->tv_sec * 1000000000 + (uint64_t)limit->tv_nsec;
	nic_note_progress();
	if (is_interrupted()) {
		errno = EINTR;
		return -1;
	}
	do {
		/* As long as it means to look again. */
		if (is_behind() && limit != NULL)
			sim_until(until + WAKES);
		sim_pause();
		sim_op("looks at what there is");
	} while (atomic_load(&nic.wakes) == 0 && sim_now() < until);
	return 0;
}
