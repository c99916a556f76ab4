/* SPDX-License-Identifier: BSD-3-Clause */
/* The senders' side of a desk. */
#include <errno.h>
#include <unistd.h>

#include "errand.h"

void
trip_errand_wake(struct trip_errand_desk *desk)
{
	uint64_t one = 1;

	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load(&desk->asleep) || !atomic_exchange(&desk->asleep, false))
		return;
	/* Full it cannot be: the runner empties it each time. */
	while (write(desk->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

bool
trip_errand_hand_in(
	struct trip_errand_desk *desk, uint32_t sender, const struct trip_errand *errand)
{
	struct trip_errand_ring *ring = &desk->rings[sender];
	struct trip_errand *slot = trip_errand_next(ring);

	if (slot == NULL) {
		/* Several senders may find it so at once. */
		atomic_fetch_add_explicit(&desk->refused, 1, memory_order_relaxed);
		return false;
	}
	*slot = *errand;
	slot->ticket = atomic_fetch_add(&desk->tickets, 1);
	trip_errand_send(ring);
	trip_errand_wake(desk);
	return true;
}
