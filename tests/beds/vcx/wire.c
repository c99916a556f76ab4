/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire: what happens to a packet that comes in, and to what the driver sends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "device.h"

enum {
	TABLES_MAX = 64,        /* on the way of one packet: rules could lead in a circle */
	PATIENCE_US = 30000000, /* where much else runs, a poller waits for seconds */
	RETRY_US = 100,
	SLEEP_BUSY_US = 50,
	SLEEP_IDLE_US = 1000,
};

static void
pause_us(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* ---- in ----------------------------------------------------------------------------------------
 */

/* Follows the rules from a table on and leaves in `end` what the last one does. True where it has
 * counted. */
static bool
steer(const struct vcx_table *table, const struct vcx_packet *packet, bool count,
	struct vcx_actions *end)
{
	bool counted = false;

	*end = (struct vcx_actions){.drop = false};
	for (unsigned i = 0; table != NULL && i < TABLES_MAX; i++) {
		const struct vcx_rule *rule = vcx_match_find(table, &packet->key);

		if (rule == NULL)
			break;
		if (count && rule->actions.counter != NULL) {
			rule->actions.counter->packets++;
			rule->actions.counter->bytes += packet->length;
			counted = true;
		}
		if (rule->actions.tagged)
			end->tag = rule->actions.tag;
		end->drop = rule->actions.drop;
		end->rss = rule->actions.rss;
		table = rule->actions.table;
	}
	return counted;
}

/* False: there is no buffer for it. */
static bool
finish(const struct vcx_packet *packet, const struct vcx_actions *end, struct vcx_injected *to)
{
	if (end->drop)
		to->dropped++;
	else if (end->rss == NULL)
		to->unmatched++;
	else if (vcx_queue_deliver(end->rss, packet, end->tag & 0xffffff))
		to->delivered++;
	else
		return false;
	return true;
}

/* Between two tries the lock is free and rules may change: the packet is steered anew, and counts
 * in the first that counts. */
static bool
wait_for_room(struct vcx_device *device, const struct vcx_packet *packet, bool counted,
	struct vcx_injected *to)
{
	for (unsigned us = 0; us < PATIENCE_US && !atomic_load(&device->removed); us += RETRY_US) {
		struct vcx_actions end;

		pthread_mutex_unlock(&device->lock);
		pause_us(RETRY_US);
		pthread_mutex_lock(&device->lock);
		counted |= steer(&device->root, packet, !counted, &end);
		if (finish(packet, &end, to))
			return true;
	}
	return false;
}

int
vcx_wire_receive(struct vcx_device *device, const void *data, size_t length, uint64_t times,
	bool patient, struct vcx_injected *result)
{
	struct vcx_injected to = {.delivered = 0};
	struct vcx_packet packet;
	uint64_t left = times;

	if (length < 14 || length > VCX_FRAME_MAX)
		return -EINVAL;
	vcx_packet_parse(&packet, data, length);
	pthread_mutex_lock(&device->lock);
	for (; left > 0 && !atomic_load(&device->removed); left--) {
		struct vcx_actions end;
		bool counted = steer(&device->root, &packet, true, &end);

		if (!finish(&packet, &end, &to) &&
			!(patient && wait_for_room(device, &packet, counted, &to)))
			to.no_buffer++;
	}
	device->rx.delivered += to.delivered;
	device->rx.dropped += to.dropped;
	device->rx.unmatched += to.unmatched;
	device->rx.no_buffer += to.no_buffer;
	pthread_mutex_unlock(&device->lock);
	*result = to;
	return left > 0 ? -ENODEV : 0;
}

/* ---- out ---------------------------------------------------------------------------------------
 */

static void
capture(struct vcx_device *device, const uint8_t *frame, size_t length)
{
	struct vcx_captured *captured;

	if (device->captured_count == VCX_CAPTURED_MAX)
		return;
	captured = malloc(sizeof(*captured) + length);
	if (captured == NULL)
		return;
	captured->length = length;
	memcpy(captured->frame, frame, length);
	TAILQ_INSERT_TAIL(&device->captured, captured, next);
	device->captured_count++;
}

/* What goes out passes rules too; true where one of them drops it. */
static bool
dropped_on_the_way_out(struct vcx_device *device, const uint8_t *frame, size_t length)
{
	struct vcx_packet packet;
	struct vcx_actions end;

	if (TAILQ_EMPTY(&device->tx_root.matchers))
		return false;
	vcx_packet_parse(&packet, frame, length);
	steer(&device->tx_root, &packet, true, &end);
	return end.drop;
}

/* Takes one packet from any send queue, under the lock; returns its length. */
static size_t
take_one(struct vcx_device *device, uint8_t *frame, enum vcx_tx_mode *mode)
{
	struct vcx_sq *sq;
	size_t length = 0;

	pthread_mutex_lock(&device->lock);
	*mode = device->tx_mode;
	LIST_FOREACH (sq, &device->sqs, next) {
		length = atomic_load(&device->removed) ? 0 : vcx_queue_take(sq, frame);
		if (length > 0)
			break;
	}
	if (length > 0 && dropped_on_the_way_out(device, frame, length)) {
		*mode = VCX_TX_DROP;
	} else if (length > 0) {
		device->tx_packets++;
		device->tx_bytes += length;
		if (*mode == VCX_TX_CAPTURE)
			capture(device, frame, length);
	}
	pthread_mutex_unlock(&device->lock);
	return length;
}

uint64_t
vcx_wire_transmit(struct vcx_device *device)
{
	uint8_t frame[VCX_FRAME_MAX];
	struct vcx_injected ignored;
	enum vcx_tx_mode mode;
	uint64_t sent = 0;
	size_t length;

	while ((length = take_one(device, frame, &mode)) > 0) {
		sent++;
		if (mode == VCX_TX_LOOP)
			vcx_wire_receive(device, frame, length, 1, true, &ignored);
		else if (mode == VCX_TX_WIRE && vcx_device_count == VCX_PORTS)
			vcx_wire_receive(
				&vcx_devices[1 - device->port], frame, length, 1, false, &ignored);
	}
	return sent;
}

int
vcx_wire_captured(struct vcx_device *device, size_t room, void *frame, size_t *length)
{
	struct vcx_captured *captured;
	int result = 0;

	pthread_mutex_lock(&device->lock);
	captured = TAILQ_FIRST(&device->captured);
	if (captured == NULL)
		result = -EAGAIN;
	else if (captured->length > room)
		result = -EMSGSIZE;
	else {
		memcpy(frame, captured->frame, captured->length);
		*length = captured->length;
		TAILQ_REMOVE(&device->captured, captured, next);
		device->captured_count--;
		free(captured);
	}
	pthread_mutex_unlock(&device->lock);
	return result;
}

/* Memory cannot say that a doorbell was written, so somebody has to look. */
static void *
transmit_all(void *unused)
{
	for (;;) {
		uint64_t sent = 0;

		for (unsigned port = 0; port < vcx_device_count; port++)
			sent += vcx_wire_transmit(&vcx_devices[port]);
		pause_us(sent > 0 ? SLEEP_BUSY_US : SLEEP_IDLE_US);
	}
	return unused;
}

static void
start_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, transmit_all, NULL) == 0) {
		pthread_setname_np(thread, "vcx-transmit");
		pthread_detach(thread);
	}
}

void
vcx_wire_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start_thread);
}
