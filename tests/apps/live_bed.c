/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "live_bed.h"
#include "rules.h"
#include "trip_test.h"

/* Only what never comes takes so long. */
#define PATIENCE_S 60

struct tripd_bed live_bed;
struct tripd_exec live_programs;
const struct live_device *live_hard;

int
live_init(void)
{
	const struct trip_rules none = {0};

	return tripd_exec_open(&live_programs, &none) != 0 ? 1 : tripd_bed_init();
}

void
live_progress(void)
{
	const struct tripd_quota *quota = &live_bed.quota;

	do {
		tripd_bed_progress(&live_bed);
		tripd_quota_read(&live_bed.quota);
		/* No period ends by that. */
		if (quota->anew_asked)
			assert_int_equal(tripd_period_update(&live_bed.quota,
						 RTE_MAX(quota->periods.looked_at, (int64_t)1)),
				0);
		tripd_bed_progress(&live_bed);
	} while (tripd_quota_read(&live_bed.quota) > 0);
}

int
live_command_do(const char *text, size_t length, char **answer)
{
	size_t size = 0;
	FILE *file = open_memstream(answer, &size);
	int status = tripd_command(text, length, file, &live_bed.commands);

	fclose(file);
	if (live_bed.quota.programs != NULL)
		tripd_exec_follow(&live_programs, live_bed.quota.rules);
	if (getenv("TRIP_SAY") != NULL)
		printf("%.*s\n=> %d: %s\n", (int)length, text, status, *answer);
	return status;
}

char *
live_command_of(const char *text, size_t length, int expected)
{
	char *answer;
	int status = live_command_do(text, length, &answer);

	if (status != expected)
		fail_msg("%.*s: %d, not %d: %s", (int)length, text, status, expected, answer);
	live_progress();
	return answer;
}

void
live_command(const char *text, int expected)
{
	free(live_command_of(text, strlen(text), expected));
}

void
live_answered(const char *text, int expected, const char *answer)
{
	char *said = live_command_of(text, strlen(text), expected);

	assert_string_equal(said, answer);
	free(said);
}

void
live_refused(const char *text, size_t length, int error, const char *why)
{
	char *answer = live_command_of(text, length, error);

	if (strstr(answer, why) == NULL)
		fail_msg("%.60s: %s, not %s", text, answer, why);
	free(answer);
}

void
live_declined(const char *text, int error, const char *why)
{
	live_refused(text, strlen(text), error, why);
}

bool
live_burst(unsigned int port)
{
	static const uint8_t head[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0,
		0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 0, 0, 26, 0, 0};
	struct rte_mbuf *pkt = rte_pktmbuf_alloc(tripd_bed_pool);
	uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(pkt, LIVE_BYTES);
	uint16_t n;

	memset(bytes, 0, LIVE_BYTES);
	memcpy(bytes, head, sizeof(head));
	bytes[37] = (uint8_t)port;
	n = trip_port_burst(live_bed.quota.ports[0], 0, &pkt, 1);
	rte_pktmbuf_free_bulk(&pkt, n);
	return n == 1;
}

bool
live_packet(unsigned int port)
{
	bool passes = live_hard != NULL ? live_hard->receive(port) : live_burst(port);

	live_progress();
	return passes;
}

bool
live_is_patient(uint64_t begun_tsc)
{
	return rte_rdtsc() - begun_tsc < PATIENCE_S * rte_get_tsc_hz();
}

void
live_check_cntr(struct trip_cntr *cntr, uint64_t expected)
{
	uint64_t begun = rte_rdtsc();

	while (trip_cntr_read(cntr) < expected && live_is_patient(begun))
		tripd_quota_pause(&live_bed.quota);
	assert_int_equal(trip_cntr_read(cntr), expected);
}
