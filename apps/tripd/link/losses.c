/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Losses: frames that reached a port and no count, or no true one. Whoever reads a count gets to
 * know of them, on the screen, in the report and by tripctl.
 */
#include <inttypes.h>
#include <stdio.h>

#include <rte_common.h>

#include <trip.h>

#include "start/fail.h"
#include "link.h"
#include "losses.h"
#include "now.h"
#include "start/plan.h"

/* A driver may have to ask its device. */
#define READ_NS UINT64_C(200000000)

const char *const tripd_losses_names[TRIPD_LOSSES] = {
	[TRIPD_LOSS_MISSED] = "missed",
	[TRIPD_LOSS_NO_BUFFER] = "no_buffer",
	[TRIPD_LOSS_ERRORS] = "errors",
	[TRIPD_LOSS_CUT] = "cut",
	[TRIPD_LOSS_UNDIVIDED] = "undivided",
	[TRIPD_LOSS_REFUSED] = "refused",
	[TRIPD_LOSS_UNSENT] = "unsent",
	[TRIPD_LOSS_UNFINISHED] = "unfinished",
};

int
tripd_losses_open(struct tripd_loss_watch *watch, struct trip_domain *domain,
	const struct tripd_plan *plan, struct tripd_link *links)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .events = TRIP_CNTR_EVENTS_COMP};
	char name[TRIP_NAME_MAX + 1];
	int ret;

	*watch = (struct tripd_loss_watch){.links = links};
	for (unsigned int i = 0; i < plan->n_ports; i++) {
		snprintf(name, sizeof(name), "port%u.uncounted", plan->ports[i].id);
		attr.name = name;
		ret = trip_cntr_open(domain, &attr, &watch->cntrs[i], NULL);
		if (ret != 0)
			return tripd_fail(ret, "counter %s: %s", name, trip_error_message());
		watch->ids[i] = plan->ports[i].id;
		watch->n_ports++;
	}
	return 0;
}

void
tripd_losses_update(struct tripd_loss_watch *watch, bool now)
{
	uint64_t time = now_ns(CLOCK_MONOTONIC);

	if (!now && time - watch->read_ns < READ_NS)
		return;
	watch->read_ns = time;
	for (unsigned int i = 0; i < watch->n_ports; i++) {
		uint64_t before = tripd_losses_uncounted(&watch->ports[i]), after;

		tripd_link_losses(&watch->links[i], &watch->ports[i]);
		after = tripd_losses_uncounted(&watch->ports[i]);
		if (after > before)
			trip_cntr_add(watch->cntrs[i], after - before);
	}
}

void
tripd_losses_close(struct tripd_loss_watch *watch)
{
	for (unsigned int i = 0; i < watch->n_ports; i++)
		if (trip_cntr_close(watch->cntrs[i]) != 0)
			tripd_fail(0, "at the end: %s", trip_error_message());
	watch->n_ports = 0;
}

uint64_t
tripd_losses_uncounted(const struct tripd_losses *losses)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < TRIPD_LOSS_REFUSED; i++)
		sum += losses->frames[i];
	return sum;
}

void
tripd_losses_describe(const struct tripd_losses *losses, char text[TRIPD_LOSSES_TEXT_MAX])
{
	static const char *const words[] = {
		[TRIPD_LOSS_MISSED] = "dropped before they were read",
		[TRIPD_LOSS_NO_BUFFER] = "for lack of a packet buffer (--mbufs gives more)",
		[TRIPD_LOSS_ERRORS] = "not handed over",
		[TRIPD_LOSS_CUT] = "cut",
		[TRIPD_LOSS_UNDIVIDED] = "counted as one that are several",
	};
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < RTE_DIM(words) && used < TRIPD_LOSSES_TEXT_MAX; i++)
		if (losses->frames[i] != 0)
			used += (size_t)snprintf(text + used, TRIPD_LOSSES_TEXT_MAX - used,
				"%s%" PRIu64 " %s", used == 0 ? "" : ", ", losses->frames[i],
				words[i]);
}
