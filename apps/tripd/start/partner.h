/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_PARTNER_H
#define TRIPD_PARTNER_H

#include <stdint.h>

#define TRIPD_PARTNER_TEXT_MAX 96

struct trip_rules;
struct tripd_options;
struct tripd_plan;

/* What gives this port, which has no partner, one; to stand behind "it has one" and "they are
 * forwarded". */
const char *tripd_partner_advice(const struct tripd_plan *plan, const struct tripd_options *options,
	uint16_t port, char text[TRIPD_PARTNER_TEXT_MAX]);

/* Warns on stderr of rules that need forwarding on ports from which, and out of which, nothing is
 * forwarded. Of ports whose number is not known it says nothing. */
void tripd_partner_warn(const struct trip_rules *rules, const struct tripd_plan *plan,
	const struct tripd_options *options);

#endif
