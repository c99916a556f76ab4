/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and numbers as people and programs read them. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "describe.h"

const char *
tripd_describe_engine(enum trip_flow_engine engine)
{
	return engine == TRIP_FLOW_ENGINE_HW ? "hw" : engine == TRIP_FLOW_ENGINE_SW ? "sw" : "both";
}

const char *
tripd_describe_fact(enum trip_port_fact from)
{
	return from == TRIP_PORT_FACT_KNOWN      ? "known"
	       : from == TRIP_PORT_FACT_MEASURED ? "measured"
						 : "assumed";
}

/* Three to four digits and a unit that is `step` times the one before. */
static void
scale(double value, const char *const *units, unsigned int n_units, char text[16])
{
	unsigned int i = 0;

	/* 999.95 would round to 1000.0. */
	while (value >= 999.95 && i + 1 < n_units) {
		value /= 1000;
		i++;
	}
	snprintf(text, 16,
		value < 9.9995   ? "%.3f %s"
		: value < 99.995 ? "%.2f %s"
				 : "%.1f %s",
		value, units[i]);
}

void
tripd_describe_number(uint64_t number, char text[16])
{
	static const char *const units[] = {"G", "T", "P", "E"};

	if (number >= 1000000000) {
		scale((double)number / 1e9, units, 4, text);
		return;
	}
	if (number >= 1000000)
		snprintf(text, 16, "%" PRIu64 ",%03" PRIu64 ",%03" PRIu64, number / 1000000,
			number / 1000 % 1000, number % 1000);
	else if (number >= 1000)
		snprintf(text, 16, "%" PRIu64 ",%03" PRIu64, number / 1000, number % 1000);
	else
		snprintf(text, 16, "%" PRIu64, number);
}

void
tripd_describe_time(uint64_t ns, char text[16])
{
	static const char *const units[] = {"us", "ms", "s"};

	if (ns < 1000)
		snprintf(text, 16, "%" PRIu64 " ns", ns);
	else
		scale((double)ns / 1e3, units, 3, text);
}

void
tripd_describe_date(uint64_t ns, char text[TRIPD_DESCRIBE_DATE])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm = {0};
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(text, TRIPD_DESCRIBE_DATE, "%FT%T", &tm);
	snprintf(text + n, TRIPD_DESCRIBE_DATE - n, ".%09uZ", (unsigned int)(ns % 1000000000));
}
