/* SPDX-License-Identifier: BSD-3-Clause */
/* Who polls queues, takes over from who was killed, and reads. */
#include <rte_byteorder.h>
#include <rte_common.h>

#include "domain/detach.h"
#include "each.h"

/* Of a key, or of one that nobody else has. */
static struct trip_packet_fields
fields_of(unsigned int key)
{
	const uint32_t bits = TRIP_HAS_ETH_HEADER | TRIP_HAS_IPV4 | TRIP_HAS_IP_HEADER;
	const uint64_t word =
		key < KEYS ? each_word_of(key) : each_word_of(key + world.strangers++);
	struct trip_packet_fields fields = {.words = {0}};

	memcpy(fields.bytes + TRIP_PLACE_BITS, &bits, sizeof(bits));
	memcpy(fields.bytes + TRIP_PLACE_IPV4_SRC, &word, 4);
	return fields;
}

static uint32_t
count(struct trip_each_poll *poll, const struct burst *burst)
{
	struct trip_packet_fields fields[PACKETS];
	uint32_t bytes[PACKETS];
	const struct trip_each_chunk chunk = {.fields = fields, .bytes = bytes, .count = burst->n};

	for (unsigned int i = 0; i < burst->n; i++) {
		fields[i] = fields_of(burst->keys[i]);
		bytes[i] = LENGTH;
	}
	trip_each_queue_follow(poll);
	(void)trip_each_queue_begin(poll, world.bed.now);
	return trip_each_queue_count(poll, &chunk);
}

static void
run_burst(struct queue *queue, struct trip_each_poll *poll, const struct burst *burst)
{
	uint32_t dropped;

	sim_op("counts %u packets", burst->n);
	while (world.is_gated && world.recovers != 0)
		sim_pause();
	world.bed.now += burst->pause;
	queue->counts = true;
	for (unsigned int i = 0; i < burst->n; i++)
		if (burst->keys[i] < KEYS)
			queue->counting[burst->keys[i]]++;
	dropped = count(poll, burst);
	for (unsigned int key = 0; key < KEYS; key++) {
		queue->counted[key] += queue->counting[key];
		queue->counting[key] = 0;
	}
	queue->counts = false;
	for (; dropped != 0; dropped &= dropped - 1)
		world.dropped[burst->keys[__builtin_ctz(dropped)]] = true;
	sim_progress();
}

/* Somebody judges, whom lines that are made anew would be in the way of. */
static bool
is_in_way(unsigned int q)
{
	bool counts = world.recovers != 0 && world.recovers != q + 1;

	for (unsigned int i = 0; i < QUEUES; i++)
		counts |= world.queues[i].counts;
	return world.is_gated && counts;
}

/* Of a process that was killed, which may have counted some of its chunk. */
static void
recover(unsigned int q)
{
	struct queue *queue = &world.queues[q];

	sim_op("takes queue %u over", q);
	for (unsigned int key = 0; key < KEYS; key++) {
		queue->lost[key] += queue->counting[key];
		queue->counting[key] = 0;
	}
	queue->counts = false;
	sim_progress();
	while (is_in_way(q))
		sim_pause();
	world.vague |= !world.is_gated;
	world.recovers = q + 1;
	trip_each_bed_poll(&world.bed, q);
	trip_each_queue_recover(&world.bed.polls[q], world.bed.now);
	world.recovers = 0;
	sim_progress();
}

/* Whether all before it were killed. */
static bool
comes_after(const unsigned int *pollers, unsigned int n)
{
	bool follows = true;

	for (unsigned int i = 0; i < n; i++) {
		while (!sim_has_ended(pollers[i]) && !sim_is_dead(pollers[i]))
			sim_pause();
		sim_join(pollers[i]);
		follows &= sim_is_dead(pollers[i]);
	}
	return follows;
}

void
each_run_poller(void *arg)
{
	unsigned int q = (unsigned int)(uintptr_t)arg / POLLERS, p = (uintptr_t)arg % POLLERS;
	struct queue *queue = &world.queues[q];

	if (!comes_after(queue->pollers, p))
		return;
	if (p > 0)
		recover(q);
	while (queue->next < BURSTS) {
		const struct burst *burst = &queue->bursts[queue->next++];

		sim_act(queue->next);
		if (burst->rests)
			sim_rest();
		if (burst->n > 0)
			run_burst(queue, &world.bed.polls[q], burst);
	}
	sim_rest();
	sim_op("sweeps");
	for (unsigned int i = 0; i < SWEEPS && world.holds_end; i++)
		trip_each_queue_sweep(&world.bed.polls[q], world.bed.now += HOLD / SWEEPS);
}

void
each_run_reader(void *readings)
{
	for (uintptr_t n = (uintptr_t)readings; n > 0; n--) {
		unsigned int key = n % KEYS;

		sim_op("reads key %u", key);
		/* Elsewhere it may be as late as can be. */
		each_expect_counted(
			key, sim_memory_kind() == SIM_MEMORY_STRONG ? each_least_of(key) : 0);
		sim_progress();
	}
}

/* ---- for who reads the story ------------------------------------------------------------------
 */

enum trip_each_tells __real_trip_each_ring_tell(const struct trip_each_ring_at *at,
	const struct trip_each_told *told, uint64_t from, struct trip_each_told *found);
enum trip_each_tells __wrap_trip_each_ring_tell(const struct trip_each_ring_at *at,
	const struct trip_each_told *told, uint64_t from, struct trip_each_told *found);

enum trip_each_tells
__wrap_trip_each_ring_tell(const struct trip_each_ring_at *at, const struct trip_each_told *told,
	uint64_t from, struct trip_each_told *found)
{
	static const char *const words[] = {"a reset", "a crossing", "a trip", "a rate"};
	enum trip_each_tells tells = __real_trip_each_ring_tell(at, told, from, found);

	sim_tell("%s%s of key %u at %llu packets of life %u %s",
		(told->when & TRIP_EACH_TOLD_END) != 0 ? "the end of " : "",
		words[world.kinds[told->when & ~TRIP_EACH_TOLD_END]],
		(unsigned int)rte_be_to_cpu_32((uint32_t)told->key[0]) & 0xffffff,
		(unsigned long long)(told->packets - told->anew_packets), told->life,
		tells == TRIP_EACH_TELLS   ? "is told"
		: tells == TRIP_EACH_KNOWN ? "is known"
					   : "is missed");
	return tells;
}

/* ---- what is not here -------------------------------------------------------------------------
 */

/* There is no port here, and so no hardware that drops keys. */
void
trip_each_hardware_entry(const struct trip_each *each, struct trip_each_entry *entry)
{
}

void
trip_each_hardware_info(const struct trip_each *each, struct trip_each_info *info)
{
}

int
trip_flow_validate(uint16_t port_id, const struct trip_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	const char **why, struct rte_flow_error *error)
{
	sim_fail("a flow is asked for");
}

/* Nobody here has left a domain. */
int
trip_detach_refuse(const struct trip_domain *domain)
{
	sim_fail("the domain is said to have ended");
}
