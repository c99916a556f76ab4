/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The waiter slots that an attached process has of each home, and how they are signalled. Whoever
 * has time of its own to keep does not wait for the primary to give some: it asks, and looks
 * whether the answer has come. That is taken by whoever looks next, or asks for something else.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <rte_common.h>

#include "client/protocol.h"
#include "cntr/native.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "secondary/link.h"

/* Under the lock. The first is the caller's, if it wants one; the others go to the list. */
static void
file_slots(struct trip_domain *domain, uint32_t home, const struct trip_protocol_slots_given *given,
	int *mine)
{
	for (uint32_t i = 0; i < RTE_MIN(given->count, TRIP_PROTOCOL_SLOTS_MAX); i++) {
		uint32_t slot = given->slot[i];

		if (slot >= domain->engine.waiters_per_home)
			continue;
		if (mine != NULL && *mine < 0)
			*mine = (int)slot;
		else
			trip_slots_give(&domain->waiters[home], slot);
	}
}

int
trip_link_settle(struct trip_domain *domain, bool wait, int *mine)
{
	struct trip_link *link = domain->link;
	union trip_protocol_answer answer;
	int result;

	if (link->asked == TRIP_NONE)
		return 0;
	result = trip_client_answer(link->client, TRIP_PROTOCOL_SLOTS, wait, &answer, NULL);
	if (result == TRIP_CLIENT_YET)
		return result;
	if (result == 0)
		file_slots(domain, link->asked, &answer.slots, mine);
	link->asked = TRIP_NONE;
	return result;
}

/* Under the lock. */
static int
ask_for_slots(struct trip_domain *domain, uint32_t home)
{
	const struct trip_protocol_slots slots = {.home = home, .count = TRIP_PROTOCOL_SLOTS_MAX};
	int error =
		trip_client_ask(domain->link->client, TRIP_PROTOCOL_SLOTS, &slots, sizeof(slots));

	if (error == 0)
		domain->link->asked = home;
	return error;
}

/*
 * Under the lock. The primary counts what it has given as this process's from then on, and we have
 * it only when it is in the list: a thread that asked in between would be refused what is free. So
 * it asks behind whoever asks already.
 */
static int
wait_for_slot(struct trip_domain *domain, uint32_t home)
{
	uint32_t slot;
	int mine = -1, error;

	(void)trip_link_settle(domain, true, NULL);
	slot = trip_slots_take(&domain->waiters[home]);
	if (slot != TRIP_SLOTS_NONE)
		return (int)slot;
	error = ask_for_slots(domain, home);
	if (error == 0)
		error = trip_link_settle(domain, true, &mine);
	if (error != 0)
		return trip_link_fail(domain, error);
	return mine >= 0 ? mine
			 : trip_error_set(EPROTO, "domain \"%s\": the primary gives no waiter",
				   domain->name);
}

/* Under the lock. */
static int
look_for_slot(struct trip_domain *domain, uint32_t home)
{
	bool ours = domain->link->asked == home;
	int mine = -1, result = trip_link_settle(domain, false, ours ? &mine : NULL);
	uint32_t slot;

	if (mine >= 0)
		return mine;
	if (result == TRIP_CLIENT_YET)
		return -EAGAIN;
	if (result != 0 && ours)
		return result;
	slot = trip_slots_take(&domain->waiters[home]);
	if (slot != TRIP_SLOTS_NONE)
		return (int)slot;
	result = ask_for_slots(domain, home);
	return result != 0 ? result : -EAGAIN;
}

static int
take_slot(struct trip_domain *domain, uint32_t home, bool wait)
{
	int result;

	/* Who has the lock may be waiting for an answer. */
	if (wait)
		pthread_mutex_lock(&domain->link->lock);
	else if (pthread_mutex_trylock(&domain->link->lock) != 0)
		return -EAGAIN;
	result = wait ? wait_for_slot(domain, home) : look_for_slot(domain, home);
	pthread_mutex_unlock(&domain->link->lock);
	return result;
}

static int
signal_by(struct trip_native *native, enum trip_protocol_signal_by by, int *fd)
{
	const struct trip_protocol_signal asked = {
		.home = native->home->index, .slot = native->slot, .by = by};
	int given = -1, error = trip_link_call(native->domain, TRIP_PROTOCOL_SIGNAL, &asked,
				sizeof(asked), NULL, &given);

	if (error != 0 || fd == NULL)
		return error;
	*fd = given;
	return given >= 0 ? 0
			  : trip_error_set(EMFILE,
				    "domain \"%s\": the process has no descriptor left to wait by",
				    native->domain->name);
}

static int
open_fd(struct trip_native *native)
{
	return signal_by(native, TRIP_PROTOCOL_SIGNAL_OWN, &native->fd);
}

static int
open_helper_fd(struct trip_native *native, int *fd)
{
	int error;

	if (*fd >= 0)
		return signal_by(native, TRIP_PROTOCOL_SIGNAL_SAME, NULL);
	error = signal_by(native, TRIP_PROTOCOL_SIGNAL_COMMON, fd);
	/* The helper sleeps in its read; what the primary gives is for who polls. */
	if (error == 0)
		(void)fcntl(*fd, F_SETFL, 0);
	return error;
}

/* A primary that has ended writes nothing any more. */
static void
silence(struct trip_native *native)
{
	(void)signal_by(native, TRIP_PROTOCOL_SIGNAL_OFF, NULL);
}

/* A socket holds each signal; it is empty, or the primary has ended, where nothing comes. */
static void
drain(struct trip_native *native, uint32_t sequence)
{
	uint64_t signals;
	int before = errno;

	while (recv(native->fd, &signals, sizeof(signals), MSG_DONTWAIT) > 0 &&
		++native->drained != sequence)
		;
	errno = before;
}

static void
interrupt(int fd)
{
	shutdown(fd, SHUT_RDWR);
}

const struct trip_native_backend trip_link_native = {
	.take_slot = take_slot,
	.open_fd = open_fd,
	.open_helper_fd = open_helper_fd,
	.silence = silence,
	.drain = drain,
	.interrupt = interrupt,
};
