/* SPDX-License-Identifier: BSD-3-Clause */
/* Built without libfixbuf: there is no exporter, as the option has said. */
#include <errno.h>
#include <unistd.h>

#include "exporter.h"

int
tripd_exporter_check(const struct tripd_ipfix_options *options)
{
	return options->kind == TRIPD_IPFIX_NONE ? 0 : -ENOTSUP;
}

int
tripd_exporter_open(struct tripd_exporter **exporter, const struct tripd_ipfix_options *options,
	int trips, size_t line_max)
{
	close(trips);
	return -ENOTSUP;
}

struct tripd_look *
tripd_exporter_asks(struct tripd_exporter *exporter)
{
	return NULL;
}

struct tripd_look *
tripd_exporter_last(struct tripd_exporter *exporter)
{
	return NULL;
}

void
tripd_exporter_give(struct tripd_exporter *exporter)
{
}

bool
tripd_exporter_reads(const struct tripd_exporter *exporter)
{
	return false;
}

void
tripd_exporter_state(const struct tripd_exporter *exporter, struct tripd_exporter_state *state)
{
	*state = (struct tripd_exporter_state){0};
}

const char *
tripd_exporter_reason(int error)
{
	return "it was built without libfixbuf";
}

void
tripd_exporter_close(struct tripd_exporter *exporter, struct tripd_exporter_state *state)
{
	*state = (struct tripd_exporter_state){0};
}
