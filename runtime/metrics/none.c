/* SPDX-License-Identifier: BSD-3-Clause */
/* Without libmicrohttpd there is the text alone. */
#include <errno.h>

#include <trip_metrics.h>

#include "domain/error.h"

int
trip_metrics_open(struct trip_domain *domain, const struct trip_metrics_attr *attr,
	struct trip_metrics **metrics)
{
	return trip_error_set(ENOTSUP, "metrics: this library was built without libmicrohttpd");
}

void
trip_metrics_close(struct trip_metrics *metrics)
{
}
