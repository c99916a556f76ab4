/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Losses: frames that reached a port and no count, or no true one. Whoever reads a count gets to
 * know of them, on the screen, in the report and by tripctl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include <trip.h>

#include "start/clock.h"
#include "link.h"
#include "losses.h"
#include "start/plan.h"

/* A driver may have to ask its device. */
#define READ_NS UINT64_C(200000000)

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
		if (ret != 0) {
			fprintf(stderr, "tripd: counter %s: %s\n", name, trip_error_message());
			return ret;
		}
		watch->ids[i] = plan->ports[i].id;
		watch->n_ports++;
	}
	return 0;
}

void
tripd_losses_update(struct tripd_loss_watch *watch, bool now)
{
	uint64_t time = tripd_clock_ns();

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
			fprintf(stderr, "tripd: at the end: %s\n", trip_error_message());
	watch->n_ports = 0;
}

uint64_t
tripd_losses_uncounted(const struct tripd_losses *losses)
{
	return losses->missed + losses->no_buffer + losses->errors + losses->cut +
	       losses->undivided;
}

void
tripd_losses_describe(const struct tripd_losses *losses, char text[TRIPD_LOSSES_TEXT_MAX])
{
	const struct {
		uint64_t n;
		const char *what;
	} parts[] = {
		{losses->missed, "dropped before they were read"},
		{losses->no_buffer, "for lack of a packet buffer (--mbufs gives more)"},
		{losses->errors, "not handed over"},
		{losses->cut, "cut"},
		{losses->undivided, "counted as one that are several"},
	};
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < RTE_DIM(parts) && used < TRIPD_LOSSES_TEXT_MAX; i++)
		if (parts[i].n != 0)
			used += (size_t)snprintf(text + used, TRIPD_LOSSES_TEXT_MAX - used,
				"%s%" PRIu64 " %s", used == 0 ? "" : ", ", parts[i].n,
				parts[i].what);
}
