/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements that count by keys, at work. */
#include "apply/each.h"
#include "quota.h"

int
tripd_quota_each_open(const struct tripd_quota *quota, const struct trip_rules_each *rule,
	struct trip_each **each)
{
	struct trip_port *ports[TRIPD_PORTS_MAX];

	/* They are among those of the plan, each once. */
	for (unsigned int i = 0; i < rule->count.n_ports; i++)
		ports[i] = quota->ports[tripd_plan_find(quota->plan, rule->count.ports[i].id)];
	return trip_apply_each_open(quota->domain, rule, ports, rule->count.n_ports, each);
}

int
tripd_quota_each_close(struct tripd_each *each)
{
	int ret;

	tripd_quota_each_info(each, &each->last);
	ret = each->each != NULL ? trip_each_close(each->each) : 0;
	if (ret == 0)
		each->each = NULL;
	return ret;
}

void
tripd_quota_each_info(const struct tripd_each *each, struct trip_each_info *info)
{
	struct trip_each_info now = {.size = sizeof(now)};

	if (each->each != NULL && trip_each_query(each->each, &now) == 0)
		*info = now;
	else if (info != &each->last)
		*info = each->last;
}
