/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC, and what the hardware engine asks the system for. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "nic_seam.h"

#include "hard.h"
#include "nic.h"
#include "sim.h"

#define RULES 512
#define CALLBACKS 8
/* Ticks within which a thread whose sleep is over has its turn. */
#define WAKES 65536

struct counter {
	bool dead, own;
	uint32_t flow;
	uint64_t packets, read;
	/* What the cache has, and since when. */
	uint64_t cached, period;
	/* Nobody could read it. */
	bool failed;
};

struct rule {
	bool dead, drop;
	uint32_t flow, priority;
	struct counter *counter;
};

static struct {
	struct nic_shape shape;
	struct rule rules[RULES];
	struct counter counters[2 * RULES];
	unsigned int n_rules, n_counters;
	struct nic_flow flows[NIC_FLOWS];
	bool removed, stopped;
	/* The chance of a failure goes by the number of the call: a plan's number, not a turn's. */
	uint32_t calls;
	struct {
		enum rte_eth_event_type event;
		rte_eth_dev_cb_fn function;
		void *arg;
	} callbacks[CALLBACKS];
	unsigned int n_callbacks;
	/* Somebody is in the driver. */
	_Atomic uint32_t inside;
	/* The eventfd. */
	_Atomic uint64_t wakes;
	/* Tickets, when the worker last went to sleep; and whether it has read anything since. */
	uint64_t served;
	bool has_read;
	char running, stands;
} nic;

/* --- the device --- */

void
nic_begin(const struct nic_shape *shape)
{
	memset(&nic, 0, sizeof(nic));
	nic.shape = *shape;
	rte_eth_fp_ops[0].rxq.data = (void **)&nic.running;
}

bool
nic_is_removed(void)
{
	return nic.removed;
}

bool
nic_may_forget(void)
{
	return nic.removed || nic.shape.bad_readings != 0 ||
	       (nic.shape.lag != 0 && !nic.shape.keeps_shared);
}

static void
refresh(struct counter *counter)
{
	uint64_t period = nic.shape.lag != 0 ? sim_now() / nic.shape.lag : sim_now();

	if (nic.shape.lag != 0 && period == counter->period)
		return;
	counter->period = period;
	counter->cached = counter->packets;
}

/* The one that packets of a flow come to. */
static struct rule *
rule_of_flow(uint32_t flow)
{
	struct rule *best = NULL;

	for (unsigned int i = 0; i < nic.n_rules; i++) {
		struct rule *rule = &nic.rules[i];

		if (!rule->dead && rule->flow == flow &&
			(best == NULL || rule->priority < best->priority))
			best = rule;
	}
	return best;
}

void
nic_receive(uint32_t flow, uint64_t n)
{
	struct rule *rule = rule_of_flow(flow);

	if (rule == NULL || nic.removed || nic.stopped)
		return;
	refresh(rule->counter);
	rule->counter->packets += n;
	nic.flows[flow].counted += n;
}

struct nic_flow
nic_flow_of(uint32_t flow)
{
	struct nic_flow of = nic.flows[flow];
	const struct rule *rule = rule_of_flow(flow);

	for (unsigned int i = 0; i < nic.n_rules; i++)
		of.rules += !nic.rules[i].dead && nic.rules[i].flow == flow;
	of.drops = rule != NULL && rule->drop;
	return of;
}

unsigned int
nic_counters(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nic.n_counters; i++)
		n += !nic.counters[i].dead && !nic.counters[i].own;
	return n;
}

static void
bury_counter(struct counter *counter)
{
	counter->dead = true;
	if (counter->flow < NIC_FLOWS)
		nic.flows[counter->flow].unread += counter->packets - counter->read;
}

/* Everything that the device had. A shared counter of it has been read to the last, where it could
 * be. */
static void
flush(bool keeps_shared)
{
	for (unsigned int i = 0; i < nic.n_rules; i++)
		nic.rules[i].dead = true;
	for (unsigned int i = 0; i < nic.n_counters; i++)
		if (!nic.counters[i].dead && (nic.counters[i].own || !keeps_shared))
			bury_counter(&nic.counters[i]);
}

void
nic_remove(void)
{
	nic.removed = true;
	for (unsigned int i = 0; i < nic.n_callbacks; i++)
		if (nic.callbacks[i].event == RTE_ETH_EVENT_INTR_RMV)
			nic.callbacks[i].function(
				0, RTE_ETH_EVENT_INTR_RMV, nic.callbacks[i].arg, NULL);
}

void
nic_stop(void)
{
	rte_eth_fp_ops[0].rxq.data = (void **)&nic.stands;
	nic.stopped = true;
	flush(nic.shape.keeps_shared);
}

void
nic_start(void)
{
	nic.stopped = false;
	rte_eth_fp_ops[0].rxq.data = (void **)&nic.running;
}

/* --- its driver --- */

/* A call takes its time, in which others go on. Rules are changed by one thread at a time. */
static void
enter(const char *what)
{
	sim_expect(atomic_exchange(&nic.inside, 1) == 0, "two threads are in the driver");
	sim_tell("the driver %s", what);
}

static int
leave(int error, struct rte_flow_error *told)
{
	atomic_store(&nic.inside, 0);
	if (error == 0)
		return 0;
	sim_tell("which it refuses");
	return rte_flow_error_set(
		told, error, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL, "the NIC says no");
}

static bool
is_bad(uint32_t of)
{
	return of != 0 && (++nic.calls * UINT32_C(0x9e3779b1) >> 16) % of == 0;
}

static struct counter *
make_counter(uint32_t flow, bool own)
{
	struct counter *counter = &nic.counters[nic.n_counters++];

	sim_expect(nic.n_counters <= 2 * RULES, "more counters than there is room for");
	/* A shared one may have been another's. */
	*counter = (struct counter){.flow = flow, .own = own, .packets = own ? 0 : 1000};
	counter->read = counter->cached = counter->packets;
	return counter;
}

static struct rule *
find_rule(struct rte_flow *handle)
{
	struct rule *rule = (struct rule *)handle;

	sim_expect(nic.removed || !rule->dead, "the handle of a rule that is dead is used");
	return rule;
}

static struct counter *
find_counter(const struct rte_flow_action_handle *handle)
{
	struct counter *counter = (struct counter *)(uintptr_t)handle;

	sim_expect(!counter->dead, "the handle of a counter that is dead is used");
	return counter;
}

static void
fill(struct rule *rule, const struct rte_flow_attr *attr, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions)
{
	const struct rte_flow_item_udp *udp = pattern[1].spec;

	*rule = (struct rule){
		.flow = rte_be_to_cpu_16(udp->hdr.dst_port), .priority = attr->priority};
	for (; actions->type != RTE_FLOW_ACTION_TYPE_END; actions++) {
		rule->drop |= actions->type == RTE_FLOW_ACTION_TYPE_DROP;
		if (actions->type == RTE_FLOW_ACTION_TYPE_INDIRECT)
			rule->counter = find_counter(actions->conf);
	}
	if (rule->counter == NULL)
		rule->counter = make_counter(rule->flow, true);
	rule->counter->flow = rule->flow;
}

struct rte_flow *
rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	struct rule *rule = NULL;
	int why = nic.removed || nic.stopped ? ENODEV : is_bad(nic.shape.bad_rules) ? ENOMEM : 0;

	enter("puts a rule in");
	sim_expect(nic.n_rules < RULES, "more rules than there is room for");
	if (why == 0) {
		rule = &nic.rules[nic.n_rules++];
		fill(rule, attr, pattern, actions);
	}
	(void)leave(why, error);
	return (struct rte_flow *)rule;
}

int
rte_flow_destroy(uint16_t port_id, struct rte_flow *flow, struct rte_flow_error *error)
{
	struct rule *rule = find_rule(flow);

	enter("takes a rule out");
	rule->dead = true;
	if (rule->counter->own && !rule->counter->dead) {
		/* Nothing came to it since it was read, where another stands above it. */
		sim_expect(rule_of_flow(rule->flow) == NULL ||
				   rule_of_flow(rule->flow)->priority > rule->priority ||
				   rule->counter->failed || nic.removed ||
				   rule->counter->read == rule->counter->packets,
			"a rule that was replaced goes before its last counts are read");
		bury_counter(rule->counter);
	}
	return leave(0, error);
}

static int
query(struct counter *counter, struct rte_flow_query_count *count, struct rte_flow_error *error)
{
	int why = nic.removed ? ENODEV : is_bad(nic.shape.bad_readings) ? EIO : 0;

	enter("reads a counter");
	counter->failed = why != 0;
	if (why != 0)
		return leave(why, error);
	refresh(counter);
	*count = (struct rte_flow_query_count){
		.hits_set = 1, .bytes_set = 1, .hits = counter->cached, .bytes = counter->cached};
	if (counter->flow < NIC_FLOWS)
		nic.flows[counter->flow].read += counter->cached - counter->read;
	nic.has_read |= counter->read != counter->cached;
	counter->read = counter->cached;
	return leave(0, error);
}

int
rte_flow_query(uint16_t port_id, struct rte_flow *flow, const struct rte_flow_action *action,
	void *data, struct rte_flow_error *error)
{
	return query(find_rule(flow)->counter, data, error);
}

int
rte_flow_action_handle_query(uint16_t port_id, const struct rte_flow_action_handle *handle,
	void *data, struct rte_flow_error *error)
{
	return query(find_counter(handle), data, error);
}

struct rte_flow_action_handle *
rte_flow_action_handle_create(uint16_t port_id, const struct rte_flow_indir_action_conf *conf,
	const struct rte_flow_action *action, struct rte_flow_error *error)
{
	struct counter *counter = NULL;

	enter("makes a counter");
	if (nic.shape.shared && !nic.removed)
		counter = make_counter(NIC_FLOWS, false);
	(void)leave(counter == NULL ? ENOTSUP : 0, error);
	return (struct rte_flow_action_handle *)counter;
}

int
rte_flow_action_handle_destroy(
	uint16_t port_id, struct rte_flow_action_handle *handle, struct rte_flow_error *error)
{
	struct counter *counter = find_counter(handle);

	enter("gives a counter back");
	for (unsigned int i = 0; i < nic.n_rules; i++)
		sim_expect(nic.rules[i].dead || nic.rules[i].counter != counter,
			"a counter is given back that a rule refers to");
	sim_expect(counter->read == counter->packets || counter->failed || nic_may_forget(),
		"a counter is given back before its last counts are read");
	bury_counter(counter);
	return leave(0, error);
}

int
rte_flow_validate(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	return 0;
}

int
rte_flow_info_get(uint16_t port_id, struct rte_flow_port_info *port,
	struct rte_flow_queue_info *queue, struct rte_flow_error *error)
{
	return -ENOTSUP;
}

int
rte_eth_dev_is_valid_port(uint16_t port_id)
{
	return port_id == 0;
}

int
rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	*info = (struct rte_eth_dev_info){.driver_name = "simulated", .nb_rx_queues = 1};
	if (nic.shape.keeps_shared)
		info->dev_capa |= RTE_ETH_DEV_CAPA_FLOW_SHARED_OBJECT_KEEP;
	return 0;
}

int
rte_eth_link_get_nowait(uint16_t port_id, struct rte_eth_link *link)
{
	*link = (struct rte_eth_link){.link_speed = 100000};
	return 0;
}

int
rte_eth_stats_get(uint16_t port_id, struct rte_eth_stats *stats)
{
	return -ENOTSUP;
}

int
rte_eth_dev_callback_register(
	uint16_t port_id, enum rte_eth_event_type event, rte_eth_dev_cb_fn function, void *arg)
{
	nic.callbacks[nic.n_callbacks].event = event;
	nic.callbacks[nic.n_callbacks].function = function;
	nic.callbacks[nic.n_callbacks++].arg = arg;
	return 0;
}

int
rte_eth_dev_callback_unregister(
	uint16_t port_id, enum rte_eth_event_type event, rte_eth_dev_cb_fn function, void *arg)
{
	return 0;
}

const struct rte_flow_item *
nic_pattern(uint32_t flow)
{
	static const struct rte_flow_item_udp mask = {.hdr.dst_port = RTE_BE16(0xffff)};
	static struct rte_flow_item_udp spec;
	static const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END}};

	spec.hdr.dst_port = rte_cpu_to_be_16((uint16_t)flow);
	return pattern;
}

/* --- the system --- */

uint64_t
nic_tsc(void)
{
	return sim_now();
}

int
nic_lock(pthread_mutex_t *mutex)
{
	while (atomic_exchange((_Atomic uint32_t *)mutex, 1) != 0)
		sim_pause();
	return 0;
}

int
nic_unlock(pthread_mutex_t *mutex)
{
	atomic_store((_Atomic uint32_t *)mutex, 0);
	sim_progress();
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
	(void)sim_spawn("worker", false, run_thread, NULL);
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

/* What the worker has served and read, homes may find. */
static void
note_progress(void)
{
	bool looks = sim_look(true);
	uint64_t served = atomic_load(&trip_hard_current->desk.served);

	(void)sim_look(looks);
	if (served != nic.served || nic.has_read)
		sim_progress();
	nic.served = served;
	nic.has_read = false;
}

/* Something was counted that is still to be read. */
static bool
is_behind(void)
{
	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		if (nic.flows[f].counted != nic.flows[f].read + nic.flows[f].unread)
			return true;
	return false;
}

int
nic_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask)
{
	uint64_t until = UINT64_MAX;

	if (limit != NULL)
		until = sim_now() + (uint64_t)limit->tv_sec * 1000000000 + (uint64_t)limit->tv_nsec;
	note_progress();
	for (;;) {
		sim_op("sleeps");
		if (atomic_load(&nic.wakes) != 0 || sim_now() >= until)
			break;
		/* As long as it means to look again. */
		if (is_behind() && limit != NULL)
			sim_until(until + WAKES);
		sim_pause();
	}
	sim_op("wakes");
	return 0;
}
