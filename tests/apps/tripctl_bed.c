/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A primary that does what it is told on stdin, for the tests of tripctl: each line is a command,
 * each answer "ok" or what was wrong. Its domain progresses between two commands.
 *
 *	tripctl_bed SOCKET [EAL WORDS]
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include <rules.h>
#include <trip.h>

#define CNTRS_MAX 2048

static struct trip_domain *domain;
static struct trip_port *port;
static struct trip_cntr *cntrs[CNTRS_MAX];
static unsigned int n_cntrs;

static struct trip_cntr *
find(const char *name)
{
	for (unsigned int i = 0; i < n_cntrs; i++)
		if (cntrs[i] != NULL && strcmp(trip_cntr_name(cntrs[i]), name) == 0)
			return cntrs[i];
	return NULL;
}

static int
open_cntr(const char *name, enum trip_cntr_events events)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr),
		.name = strcmp(name, "-") == 0 ? NULL : name,
		.events = events};

	if (n_cntrs == CNTRS_MAX)
		return -ENOSPC;
	return trip_cntr_open(domain, &attr, &cntrs[n_cntrs++], NULL);
}

static int
close_cntr(const char *name)
{
	for (unsigned int i = 0; i < n_cntrs; i++) {
		if (cntrs[i] == NULL || strcmp(trip_cntr_name(cntrs[i]), name) != 0)
			continue;
		if (trip_cntr_close(cntrs[i]) != 0)
			return -EBUSY;
		cntrs[i] = NULL;
		return 0;
	}
	return -ENOENT;
}

/* work TRIGGER THRESHOLD INTERVAL TARGET VALUE [IDLE NS | RATE NS COUNT [NS COUNT]] */
static int
queue(char *words)
{
	char trigger[64], target[64];
	struct trip_condition condition = {.size = sizeof(condition)};
	struct trip_work work = {.size = sizeof(work), .op_type = TRIP_OP_CNTR_ADD};
	uint64_t time, count, until_time = 0, until_count = 0;
	int n = sscanf(words,
		"%63s %" SCNu64 " %" SCNu64 " %63s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		" %" SCNu64,
		trigger, &work.threshold, &work.interval, target, &work.op.cntr.value, &time,
		&count, &until_time, &until_count);

	if (n < 5)
		return -EINVAL;
	if (n >= 6)
		work.condition = &condition;
	if (n == 6) {
		condition.kind = TRIP_CONDITION_IDLE;
		condition.when.idle.time = time;
	} else if (n >= 7) {
		condition.kind = TRIP_CONDITION_RATE;
		condition.when.rate.count = count;
		condition.when.rate.time = time;
		condition.when.rate.until_count = until_count;
		condition.when.rate.until_time = until_time;
	}
	work.triggering_cntr = find(trigger);
	work.op.cntr.cntr = find(target);
	return trip_work_queue(domain, &work, NULL);
}

static int
open_port(void)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	const struct rte_eth_conf conf = {0};

	if (port != NULL)
		return 0;
	if (rte_eth_dev_configure(0, 1, 1, &conf) != 0)
		return -ENODEV;
	return trip_port_open(domain, 0, &attr, &port);
}

/* A statement of the rules. */
static int
count(const char *line)
{
	struct trip_flow_attr attr = {.size = sizeof(attr), .n_cntrs = 2};
	struct trip_cntr *fed[2];
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	struct trip_flow *flow;
	char name[64];
	int error = open_port();

	if (error == 0)
		error = trip_rules_parse_text("count", line, strlen(line), &rules, &errors);
	if (error != 0)
		return error;
	snprintf(name, sizeof(name), "%s.packets", rules->counts[0].name);
	error = open_cntr(name, TRIP_CNTR_EVENTS_COMP);
	fed[0] = find(name);
	snprintf(name, sizeof(name), "%s.bytes", rules->counts[0].name);
	if (error == 0)
		error = open_cntr(name, TRIP_CNTR_EVENTS_BYTES);
	fed[1] = find(name);
	attr.cntrs = fed;
	attr.priority = rules->counts[0].priority;
	if (error == 0)
		error = trip_flow_create(
			port, &attr, rules->counts[0].patterns[0], NULL, &flow, NULL);
	trip_rules_free(rules);
	return error;
}

/* Receives n packets of UDP to a port. */
static int
receive(uint16_t dst, unsigned int n)
{
	static struct rte_mempool *pool;
	struct rte_mbuf *mbuf;
	int error = open_port();

	if (pool == NULL)
		pool = rte_pktmbuf_pool_create("bed", 63, 0, 0, 256, SOCKET_ID_ANY);
	if (error != 0 || pool == NULL)
		return error != 0 ? error : -ENOMEM;
	while (n-- > 0) {
		const struct rte_ether_hdr eth = {.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)};
		const struct rte_ipv4_hdr ip = {
			.version_ihl = 0x45,
			.total_length = RTE_BE16(28),
			.time_to_live = 64,
			.next_proto_id = 17,
		};
		const struct rte_udp_hdr udp = {
			.dst_port = rte_cpu_to_be_16(dst), .dgram_len = RTE_BE16(8)};

		mbuf = rte_pktmbuf_alloc(pool);
		if (mbuf == NULL)
			return -ENOMEM;
		memcpy(rte_pktmbuf_append(mbuf, sizeof(eth)), &eth, sizeof(eth));
		memcpy(rte_pktmbuf_append(mbuf, sizeof(ip)), &ip, sizeof(ip));
		memcpy(rte_pktmbuf_append(mbuf, sizeof(udp)), &udp, sizeof(udp));
		if (trip_port_burst(port, 0, &mbuf, 1) == 1)
			rte_pktmbuf_free(mbuf);
	}
	return 0;
}

static int
obey(char *line)
{
	char word[32] = "", name[64] = "";
	uint64_t value = 0;
	int at = 0;

	if (sscanf(line, "%31s %n", word, &at) < 1)
		return -EINVAL;
	if (strcmp(word, "count") == 0)
		return count(line);
	if (strcmp(word, "work") == 0)
		return queue(line + at);
	if (sscanf(line + at, "%63s %" SCNu64, name, &value) < 1)
		return -EINVAL;
	if (strcmp(word, "cntr") == 0)
		return open_cntr(name, TRIP_CNTR_EVENTS_COMP);
	if (strcmp(word, "receive") == 0)
		return receive((uint16_t)strtoul(name, NULL, 10), (unsigned int)value);
	if (strcmp(word, "close") == 0)
		return close_cntr(name);
	if (find(name) == NULL)
		return -ENOENT;
	if (strcmp(word, "add") == 0)
		return trip_cntr_add(find(name), value);
	if (strcmp(word, "set") == 0)
		return trip_cntr_set(find(name), value);
	if (strcmp(word, "adderr") == 0)
		return trip_cntr_adderr(find(name), value);
	if (strcmp(word, "read") == 0)
		return printf("%" PRIu64 "\n", trip_cntr_read(find(name))) > 0 ? 0 : -EIO;
	return -EINVAL;
}

static void
work_off(void)
{
	struct pollfd entry = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[512];

	for (;;) {
		int error, done = trip_progress(domain);

		if (poll(&entry, 1, done > 0 ? 0 : 1) != 1)
			continue;
		if (fgets(line, sizeof(line), stdin) == NULL)
			return;
		error = obey(line);
		/* What it has brought about has happened when it is answered. */
		while (trip_progress(domain) > 0)
			;
		printf("%s\n", error == 0 ? "ok" : trip_error_message());
		fflush(stdout);
	}
}

int
main(int argc, char **argv)
{
	struct trip_domain_attr attr = {
		.size = sizeof(attr),
		.name = "bed",
		.progress = TRIP_PROGRESS_MANUAL,
		.n_lcores = 2,
		.max_cntrs = CNTRS_MAX,
		.max_works = 4096,
		.max_waiters = 64,
		.max_flows = 64,
		.max_events = 64,
		.max_process_works = 64,
		.socket_mode = 0666,
	};

	/* A line is there as soon as poll() says so. */
	setvbuf(stdin, NULL, _IONBF, 0);
	attr.socket = argv[1];
	if (rte_eal_init(argc - 1, argv + 1) < 0)
		return 77;
	if (trip_domain_open(&attr, &domain, NULL) != 0) {
		fprintf(stderr, "%s\n", trip_error_message());
		return 1;
	}
	printf("ok\n");
	fflush(stdout);
	work_off();
	/* It ends as a program does that was killed: nothing is closed. */
	fflush(stdout);
	_exit(0);
}
