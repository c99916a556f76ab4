/* SPDX-License-Identifier: BSD-3-Clause */
/* The quotas of tripd, which says what they are by a command: a domain knows nothing of them. */
#ifndef TRIPCTL_QUOTAS_H
#define TRIPCTL_QUOTAS_H

#include <stddef.h>
#include <stdint.h>

#include "base/record.h"

struct tripctl;

struct tripctl_quota {
	char name[64], of[16], state[16];
	uint64_t limit, spent;
	/* Seconds since the epoch; TRIPCTL_QUOTA_NEVER: it has no periods. */
	int64_t began, ends;
	/* How many periods have ended. */
	uint64_t ended;
};

#define TRIPCTL_QUOTA_NEVER INT64_MAX

struct tripctl_quotas {
	struct tripctl_quota *all;
	size_t n;
};

/* A table of them, and their keys in JSON. */
extern const struct tripctl_record_kind tripctl_quotas_kind;

/* Asks for them: 0, or as trip_client_command(), -ENOENT: who has the domain has none such,
 * -EPROTO: it says something else, -ENOMEM. What was there before is kept then. */
int tripctl_quotas_read(struct tripctl_quotas *quotas, struct trip_client *client);
void tripctl_quotas_free(struct tripctl_quotas *quotas);

/* What is spent, as a part of the limit. */
double tripctl_quotas_share(const struct tripctl_quota *quota);

/* A moment as people here read it. Returns `out`. */
#define TRIPCTL_QUOTAS_DATE 32
const char *tripctl_quotas_date(int64_t seconds, char out[TRIPCTL_QUOTAS_DATE]);

#endif
