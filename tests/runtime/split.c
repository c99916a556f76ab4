/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two secondaries of LAYOUT_SPLIT. The linker has the tests call what is here instead of the
 * library (meson.build): what opens, closes and updates a counter is done by the other process, and
 * the handle that the tests have is one that they have found. In all other layouts a call goes
 * right through.
 *
 * What one of them refuses, the other does, too: so a call that is refused over there is made here
 * as well, and its error and its sentence are the library's own.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include <rte_common.h>

#include "layout.h"

#define CNTRS_MAX 1024
#define NAMELESS "split-"

enum call {
	ATTACH,
	DETACH,
	OPEN,
	CLOSE,
	ADD,
	ADDERR,
	SET,
	SETERR,
	CALLS,
};

struct message {
	enum call call;
	int result;
	/* The other's handle: a pointer of that process. */
	struct trip_cntr *cntr;
	uint64_t value;
	struct trip_cntr_attr attr;
	char name[TRIP_NAME_MAX + 8];
};

int __real_trip_cntr_open(struct trip_domain *domain, const struct trip_cntr_attr *attr,
	struct trip_cntr **cntr, void *context);
int __real_trip_cntr_close(struct trip_cntr *cntr);
const char *__real_trip_cntr_name(const struct trip_cntr *cntr);
int __real_trip_cntr_add(struct trip_cntr *cntr, uint64_t value);
int __real_trip_cntr_adderr(struct trip_cntr *cntr, uint64_t value);
int __real_trip_cntr_set(struct trip_cntr *cntr, uint64_t value);
int __real_trip_cntr_seterr(struct trip_cntr *cntr, uint64_t value);

int __wrap_trip_cntr_open(struct trip_domain *domain, const struct trip_cntr_attr *attr,
	struct trip_cntr **cntr, void *context);
int __wrap_trip_cntr_close(struct trip_cntr *cntr);
const char *__wrap_trip_cntr_name(const struct trip_cntr *cntr);
int __wrap_trip_cntr_add(struct trip_cntr *cntr, uint64_t value);
int __wrap_trip_cntr_adderr(struct trip_cntr *cntr, uint64_t value);
int __wrap_trip_cntr_set(struct trip_cntr *cntr, uint64_t value);
int __wrap_trip_cntr_seterr(struct trip_cntr *cntr, uint64_t value);

static int (*const updates[])(struct trip_cntr *cntr, uint64_t value) = {
	[ADD] = __real_trip_cntr_add,
	[ADDERR] = __real_trip_cntr_adderr,
	[SET] = __real_trip_cntr_set,
	[SETERR] = __real_trip_cntr_seterr,
};

/* ---- the other --------------------------------------------------------------------------------
 */

static int
open_theirs(struct message *message)
{
	message->attr.name = message->name;
	return __real_trip_cntr_open(harness_domain, &message->attr, &message->cntr, NULL);
}

static int
serve_one(struct message *message)
{
	switch (message->call) {
	case ATTACH:
		return trip_domain_attach(NULL, &harness_domain, NULL);
	case DETACH:
		return trip_domain_close(harness_domain);
	case OPEN:
		return open_theirs(message);
	case CLOSE:
		return __real_trip_cntr_close(message->cntr);
	default:
		assert_true(message->call < CALLS);
		return updates[message->call](message->cntr, message->value);
	}
}

void
split_serve(int socket)
{
	struct message message;

	while (recv(socket, &message, sizeof(message), 0) == sizeof(message)) {
		message.result = serve_one(&message);
		if (send(socket, &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
			break;
	}
}

/* ---- here -------------------------------------------------------------------------------------
 */

/* -1: the calls are not split. */
static int other = -1;
/* One request at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The tests' handles, and the other's. */
static struct {
	struct trip_cntr *ours, *theirs;
} pairs[CNTRS_MAX];
static unsigned int n_pairs;
static uint64_t n_nameless;

/* Under the lock. */
static int
ask(struct message *message)
{
	if (send(other, message, sizeof(*message), MSG_NOSIGNAL) != sizeof(*message) ||
		recv(other, message, sizeof(*message), 0) != sizeof(*message))
		fail_msg("the other secondary has ended");
	return message->result;
}

static int
ask_for(enum call call)
{
	struct message message = {.call = call};
	int result;

	pthread_mutex_lock(&lock);
	result = ask(&message);
	pthread_mutex_unlock(&lock);
	return result;
}

void
split_start(int socket)
{
	other = socket;
}

void
split_attach(void)
{
	assert_int_equal(ask_for(ATTACH), 0);
}

void
split_detach(void)
{
	assert_int_equal(n_pairs, 0);
	assert_int_equal(ask_for(DETACH), 0);
}

/* The place of one of our handles, or n_pairs: the other has none of it. Under the lock. */
static unsigned int
find(const struct trip_cntr *cntr)
{
	unsigned int i = 0;

	while (i < n_pairs && pairs[i].ours != cntr)
		i++;
	return i;
}

/* Opens it over there: 0, or that it was refused, or cannot be asked for so. */
static int
open_there(const struct trip_cntr_attr *attr, struct message *message)
{
	static const struct trip_cntr_attr defaults = {.size = sizeof(defaults)};

	*message = (struct message){.call = OPEN, .attr = attr != NULL ? *attr : defaults};
	if (message->attr.size != sizeof(message->attr))
		return -EINVAL;
	message->attr.wait_set = NULL;
	message->attr.wait_obj = TRIP_WAIT_NONE;
	if (message->attr.name == NULL)
		snprintf(message->name, sizeof(message->name), NAMELESS "%" PRIu64, n_nameless++);
	else
		snprintf(message->name, sizeof(message->name), "%s", message->attr.name);
	message->attr.name = NULL;
	return ask(message);
}

/* Under the lock. */
static int
open_split(struct trip_domain *domain, const struct trip_cntr_attr *attr, struct trip_cntr **cntr,
	void *context)
{
	struct trip_cntr_attr own = {.size = sizeof(own)};
	struct message message;
	int error;

	if (open_there(attr, &message) != 0) {
		error = __real_trip_cntr_open(domain, attr, cntr, context);
		assert_int_not_equal(error, 0);
		return error;
	}
	if (attr != NULL)
		own = *attr;
	own.name = message.name;
	error = trip_cntr_find(domain, &own, cntr, context);
	if (error == 0) {
		assert_true(n_pairs < CNTRS_MAX);
		pairs[n_pairs].ours = *cntr;
		pairs[n_pairs++].theirs = message.cntr;
		return 0;
	}
	message.call = CLOSE;
	assert_int_equal(ask(&message), 0);
	return error;
}

int
__wrap_trip_cntr_open(struct trip_domain *domain, const struct trip_cntr_attr *attr,
	struct trip_cntr **cntr, void *context)
{
	int error;

	if (other < 0 || domain != harness_domain)
		return __real_trip_cntr_open(domain, attr, cntr, context);
	pthread_mutex_lock(&lock);
	error = open_split(domain, attr, cntr, context);
	pthread_mutex_unlock(&lock);
	return error;
}

/* Ours first: as long as we have found it, it cannot be closed over there. */
int
__wrap_trip_cntr_close(struct trip_cntr *cntr)
{
	struct message message = {.call = CLOSE};
	unsigned int at;
	int error;

	if (other < 0)
		return __real_trip_cntr_close(cntr);
	pthread_mutex_lock(&lock);
	at = find(cntr);
	error = __real_trip_cntr_close(cntr);
	if (error == 0 && at < n_pairs) {
		message.cntr = pairs[at].theirs;
		pairs[at] = pairs[--n_pairs];
		assert_int_equal(ask(&message), 0);
	}
	pthread_mutex_unlock(&lock);
	return error;
}

const char *
__wrap_trip_cntr_name(const struct trip_cntr *cntr)
{
	const char *name = __real_trip_cntr_name(cntr);

	return other >= 0 && strncmp(name, NAMELESS, sizeof(NAMELESS) - 1) == 0 ? "" : name;
}

static int
update(enum call call, struct trip_cntr *cntr, uint64_t value)
{
	struct message message = {.call = call, .value = value};
	unsigned int at;
	int error = 0;

	if (other < 0)
		return updates[call](cntr, value);
	pthread_mutex_lock(&lock);
	at = find(cntr);
	if (at < n_pairs) {
		message.cntr = pairs[at].theirs;
		error = ask(&message);
	}
	pthread_mutex_unlock(&lock);
	if (at == n_pairs)
		return updates[call](cntr, value);
	if (error != 0)
		assert_int_equal(updates[call](cntr, value), error);
	return error;
}

int
__wrap_trip_cntr_add(struct trip_cntr *cntr, uint64_t value)
{
	return update(ADD, cntr, value);
}

int
__wrap_trip_cntr_adderr(struct trip_cntr *cntr, uint64_t value)
{
	return update(ADDERR, cntr, value);
}

int
__wrap_trip_cntr_set(struct trip_cntr *cntr, uint64_t value)
{
	return update(SET, cntr, value);
}

int
__wrap_trip_cntr_seterr(struct trip_cntr *cntr, uint64_t value)
{
	return update(SETERR, cntr, value);
}
