/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_DESCRIBE_H
#define TRIPD_DESCRIBE_H

#include <stdint.h>

#include <trip_flow.h>

/* "sw" or "hw". */
const char *tripd_describe_engine(enum trip_flow_engine engine);

/* "known", "measured" or "assumed". */
const char *tripd_describe_fact(enum trip_port_fact from);

/* 1,234,567; from 10^9 on 1.235 G and so on: at most 11 characters. */
void tripd_describe_number(uint64_t number, char text[16]);

/* 12.3 us: at most 7 characters. */
void tripd_describe_time(uint64_t ns, char text[16]);

/* Of nanoseconds since 1970, as RFC 3339 has it: 2026-11-23T15:54:16.123456789Z. */
#define TRIPD_DESCRIBE_DATE 32
void tripd_describe_date(uint64_t ns, char text[TRIPD_DESCRIBE_DATE]);

#endif
