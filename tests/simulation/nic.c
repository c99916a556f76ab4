/* SPDX-License-Identifier: BSD-3-Clause */
/* The device: what packets come to, and what becomes of it. */
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_errno.h>

#include "nic_inside.h"

struct nic nic;

static char running, stands;

/* A port that is stopped has the bursts of one that is not there. */
static void
show_fast_path(bool runs)
{
	struct rte_eth_fp_ops *ops = rte_eth_fp_ops;
	eth_rx_burst_t none = ops[RTE_MAX_ETHPORTS - 1].rx_pkt_burst;

	ops[0].rxq.data = (void **)(runs ? &running : &stands);
	/* It is compared, and never called. */
	ops[0].rx_pkt_burst = runs ? (eth_rx_burst_t)(uintptr_t)&running : none;
}

void
nic_begin(const struct nic_shape *shape)
{
	memset(&nic, 0, sizeof(nic));
	nic.shape = *shape;
	nic_queue_begin();
	show_fast_path(true);
}

bool
nic_is_removed(void)
{
	return nic.removed;
}

bool
nic_is_away(void)
{
	return nic.away;
}

bool
nic_may_forget(void)
{
	return nic.removed || nic.was_surprising || nic.was_away || nic.shape.bad_readings != 0 ||
	       (nic.shape.lag != 0 && !nic.shape.keeps_shared);
}

bool
nic_may_keep(void)
{
	return (nic.shape.queue > 0 && (nic.removed || nic.was_surprising)) ||
	       (nic.removed && nic.was_away);
}

bool
nic_may_lose(void)
{
	return nic.removed || nic.has_refused || nic.shape.bad_rules != 0 ||
	       nic.shape.bad_readings != 0 || nic.shape.hangs != 0;
}

/* --- chance --- */

void
nic_count_calls(uint32_t n)
{
	nic.calls = n;
}

uint32_t
nic_chance(uint32_t of)
{
	return (++nic.calls * UINT32_C(0x9e3779b1) >> 16) % of;
}

int
nic_refuses(uint32_t one_of)
{
	static const int errors[] = {EIO, ENOMEM, EBUSY, ENOTSUP, EAGAIN};

	if (nic.removed)
		return ENODEV;
	if (nic.away) {
		nic.has_refused = true;
		return EBUSY;
	}
	if (one_of == 0 || nic_chance(one_of) != 0)
		return 0;
	return errors[nic.calls % (sizeof(errors) / sizeof(errors[0]))];
}

/* --- counters --- */

struct nic_counter *
nic_make_counter(uint32_t flow, bool own)
{
	struct nic_counter *counter = &nic.counters[nic.n_counters++];

	sim_expect(nic.n_counters <= NIC_COUNTERS, "more counters than there is room for");
	/* A shared one may have been another's. */
	*counter = (struct nic_counter){.flow = flow, .own = own, .packets = own ? 0 : 1000};
	counter->read = counter->cached = counter->answer = counter->packets;
	return counter;
}

void
nic_note_out(struct nic_counter *counter)
{
	for (unsigned int i = 0; i < nic.n_rules; i++)
		if (!nic.rules[i].dead && nic.rules[i].counter == counter)
			return;
	counter->out = sim_now();
}

bool
nic_note_late(const struct nic_counter *counter)
{
	bool is_late = nic.shape.lag != 0 && counter->out != 0 &&
		       sim_now() > counter->out + NIC_WAITED * nic.shape.lag;

	if (is_late && counter->flow < NIC_FLOWS)
		nic.flows[counter->flow].late = true;
	return is_late;
}

void
nic_bury_counter(struct nic_counter *counter)
{
	counter->dead = true;
	if (counter->flow < NIC_FLOWS)
		nic.flows[counter->flow].unread += counter->packets - counter->read;
}

void
nic_cannot_take_out(struct nic_rule *rule)
{
	if (rule->dead)
		return;
	nic.flows[rule->flow].stuck++;
	rule->stuck = true;
	/* What a jump leads to stays with it. */
	for (unsigned int i = 0; i < nic.n_rules; i++)
		if (rule->jump && !nic.rules[i].dead && nic.rules[i].flow == rule->flow)
			nic.rules[i].stuck = true;
	for (unsigned int i = 0; i < nic.n_rules; i++)
		if (nic.rules[i].stuck && nic.rules[i].counter != NULL)
			nic.rules[i].counter->stuck = true;
}

unsigned int
nic_counters(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nic.n_counters; i++) {
		const struct nic_counter *counter = &nic.counters[i];

		n += !counter->dead && !counter->own && !counter->has_failed && !counter->stuck;
	}
	return n;
}

/* --- packets --- */

static struct nic_rule *
find_best(uint32_t flow, bool jump)
{
	struct nic_rule *best = NULL;

	for (unsigned int i = 0; i < nic.n_rules; i++) {
		struct nic_rule *rule = &nic.rules[i];

		if (rule->stands && rule->flow == flow && rule->jump == jump &&
			(best == NULL || rule->priority < best->priority))
			best = rule;
	}
	return best;
}

struct nic_rule *
nic_rule_of_flow(uint32_t flow)
{
	return find_best(flow, false);
}

/* The one to which packets of group 0 come. */
static struct nic_rule *
find_target(uint32_t flow)
{
	struct nic_rule *rule = find_best(flow, false);

	if (nic.shape.queue == 0)
		return rule;
	if (find_best(flow, true) == NULL)
		return NULL;
	sim_expect(rule != NULL, "packets of flow %u are brought to where there is no rule", flow);
	return rule;
}

void
nic_receive(uint32_t flow, uint64_t n)
{
	struct nic_rule *rule;
	unsigned int at = nic.n_arrivals[flow];

	if (nic.removed || nic.stopped || nic.away)
		return;
	rule = find_target(flow);
	if (rule == NULL)
		return;
	sim_expect(at < NIC_ARRIVALS, "more packets come than there is room for");
	nic.arrivals[flow][at] = (struct nic_arrival){.now = sim_now(),
		.shown = UINT64_MAX,
		.before = nic.flows[flow].counted,
		.counter = rule->counter};
	nic.n_arrivals[flow]++;
	rule->counter->packets += n;
	nic.flows[flow].counted += n;
}

uint64_t
nic_counted_before(uint32_t flow, uint64_t moment)
{
	uint64_t lag = nic.shape.lag;

	for (unsigned int i = 0; i < nic.n_arrivals[flow]; i++)
		if (nic.arrivals[flow][i].now >= moment ||
			(lag != 0 && nic.arrivals[flow][i].shown > moment + lag))
			return nic.arrivals[flow][i].before;
	return nic.flows[flow].counted;
}

struct nic_flow
nic_flow_of(uint32_t flow)
{
	struct nic_flow of = nic.flows[flow];
	const struct nic_rule *rule = nic_rule_of_flow(flow);

	for (unsigned int i = 0; i < nic.n_rules; i++) {
		if (nic.rules[i].flow != flow || nic.rules[i].dead)
			continue;
		of.standing += nic.rules[i].stuck;
		of.jumps += nic.rules[i].jump;
		of.rules += !nic.rules[i].jump;
	}
	of.drops = rule != NULL && rule->drop;
	return of;
}

bool
nic_stands(const struct rte_flow *handle)
{
	const struct nic_rule *rule = (const struct nic_rule *)handle;

	return nic.removed || nic.away || nic.surprises || rule->stands;
}

/* --- what becomes of it --- */

/* Everything that the device had. A shared counter of it has been read to the last, where it could
 * be. */
static void
flush(bool keeps_shared)
{
	/* No call is under way while a port is stopped. */
	while (atomic_load(&nic.inside) != 0) {
		nic.is_awaited = true;
		sim_pause();
	}
	nic_queue_flush();
	for (unsigned int i = 0; i < nic.n_rules; i++) {
		nic.rules[i].dead = true;
		nic.rules[i].stands = false;
	}
	for (unsigned int i = 0; i < nic.n_counters; i++) {
		struct nic_counter *counter = &nic.counters[i];

		if (!counter->dead && counter->out == 0)
			counter->out = sim_now();
		if (!counter->dead && (counter->own || !keeps_shared))
			nic_bury_counter(counter);
	}
}

void
nic_tell(enum rte_eth_event_type event)
{
	nic.recovers = false;
	nic.tells = true;
	for (unsigned int i = 0; i < nic.n_callbacks; i++)
		if (nic.callbacks[i].event == event)
			nic.callbacks[i].function(0, event, nic.callbacks[i].arg, NULL);
	nic.tells = false;
	sim_progress();
}

void
nic_remove(enum rte_eth_event_type event)
{
	nic.removed = true;
	nic_tell(event);
}

void
nic_surprise(bool begins)
{
	nic.surprises = begins;
	nic.was_surprising = true;
}

void
nic_go_away(void)
{
	nic.away = nic.was_away = true;
}

void
nic_begin_anew(enum rte_eth_event_type event)
{
	nic_tell(event);
	nic_go_away();
	nic.recovers = nic.n_callbacks > 0;
	sim_expect(!nic.recovers || atomic_load(&nic.inside) == 0,
		"the driver begins anew while somebody asks it");
	nic_queue_doubt();
}

void
nic_come_back(bool with_counters)
{
	flush(with_counters && nic.shape.keeps_shared);
	if (with_counters) {
		nic_queue_drain();
	} else {
		nic_queue_begin();
		nic.recovers = false;
	}
	show_fast_path(true);
	nic.away = false;
}

void
nic_stop(void)
{
	show_fast_path(false);
	nic.stopped = true;
	flush(nic.shape.keeps_shared);
}

void
nic_start(void)
{
	nic.stopped = false;
	show_fast_path(true);
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
