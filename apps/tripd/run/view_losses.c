/* SPDX-License-Identifier: BSD-3-Clause */
/* What people are told of frames that were not counted, or not sent. */
#include <inttypes.h>

#include "link/losses.h"
#include "quota.h"
#include "view.h"

#define LOSSES_NS UINT64_C(60000000000)

static void
say_unsent(struct tripd_screen *screen, uint16_t port, uint64_t n, const char *why)
{
	if (n != 0)
		tripd_screen_say(screen, "port %u: %" PRIu64 " %s counted and not sent: %s", port,
			n, n == 1 ? "frame was" : "frames were", why);
}

void
tripd_view_losses(struct tripd_view *view)
{
	const struct tripd_loss_watch *losses = &view->quota->losses;
	struct tripd_screen *screen = &view->screen;
	char text[TRIPD_LOSSES_TEXT_MAX];

	for (unsigned int i = 0; i < losses->n_ports; i++) {
		const uint64_t *frames = losses->ports[i].frames;
		uint64_t unfinished = frames[TRIPD_LOSS_UNFINISHED];

		say_unsent(screen, losses->ids[i], frames[TRIPD_LOSS_REFUSED],
			"longer than its MTU, or it was down");
		say_unsent(screen, losses->ids[i], frames[TRIPD_LOSS_UNSENT],
			"its queue was full, as it was slower than what came, or down");
		if (unfinished != 0)
			tripd_screen_say(screen,
				"port %u: %" PRIu64
				" %s a checksum that is wrong: their sender left it, and "
				"where is not known",
				losses->ids[i], unfinished,
				unfinished == 1 ? "frame has" : "frames have");
		if (tripd_losses_uncounted(&losses->ports[i]) == 0)
			continue;
		tripd_losses_describe(&losses->ports[i], text);
		tripd_screen_say(screen, "%sport %u: the counts are short of frames: %s%s",
			tripd_screen_colour(screen, TRIPD_RED), losses->ids[i], text,
			tripd_screen_colour(screen, TRIPD_PLAIN));
	}
}

bool
tripd_view_has_new_losses(struct tripd_view *view, uint64_t now)
{
	const struct tripd_loss_watch *losses = &view->quota->losses;
	uint64_t sum = 0;

	if (view->told_ns != 0 && now - view->told_ns < LOSSES_NS)
		return false;
	for (unsigned int i = 0; i < losses->n_ports; i++)
		sum += losses->ports[i].frames[TRIPD_LOSS_REFUSED] +
		       losses->ports[i].frames[TRIPD_LOSS_UNSENT] +
		       tripd_losses_uncounted(&losses->ports[i]);
	if (sum == view->told_losses)
		return false;
	view->told_losses = sum;
	view->told_ns = now;
	return true;
}
