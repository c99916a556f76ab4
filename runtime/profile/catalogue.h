/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The catalogue of what is told of the library's objects: each variable and each event once, for
 * whoever tells of them. It needs libc only, and says nothing of where a value comes from.
 *
 * Rules, which tests/runtime/catalogue.c holds it to:
 *  - A name is that of its number in trip_profile.h, in small letters. It ends with its kind
 *    (_total, _now, _most, _limit, or _p and per cent), and before that stands its unit (_ns,
 *    _bytes), unless the unit is what the name names.
 *  - Numbers and names are unique, those of variables and of events together, and rows stand in the
 *    order of the numbers. A number that was there stays what it was: api/trip.abi has them.
 *  - For each total there is another that counts what goes wrong where it grows, at the same
 *    objects; or it says that it counts that itself, or that nothing can.
 *  - A meaning is one line.
 */
#ifndef TRIP_PROFILE_CATALOGUE_H
#define TRIP_PROFILE_CATALOGUE_H

#include <stdint.h>

#include <trip_profile.h>

/* Objects that have a variable. */
enum trip_catalogue_scope {
	TRIP_CATALOGUE_DOMAIN = 1u << 0,
	TRIP_CATALOGUE_LCORE = 1u << 1,
	TRIP_CATALOGUE_CNTR = 1u << 2,
	TRIP_CATALOGUE_PORT = 1u << 3,
	TRIP_CATALOGUE_QUEUE = 1u << 4,
	TRIP_CATALOGUE_EACH = 1u << 5,
};

/* In place of the number of what goes wrong. */
enum {
	/* It counts something that cannot fail, or it is no total. */
	TRIP_CATALOGUE_NONE = 0,
	/* It counts what goes wrong. */
	TRIP_CATALOGUE_FAULT = 1,
};

/* What a histogram is kept of, by lcores. */
enum trip_catalogue_spread {
	TRIP_CATALOGUE_NO_SPREAD,
	TRIP_CATALOGUE_OVERSHOOT,
	TRIP_CATALOGUE_FIRING,
	TRIP_CATALOGUE_DETECTION,
};

struct trip_catalogue_var {
	uint32_t id;
	uint32_t scopes;
	enum trip_profile_kind kind;
	enum trip_profile_unit unit;
	/* Of which histogram it is how much of 1000. */
	enum trip_catalogue_spread spread;
	uint32_t permille;
	/* TRIP_CATALOGUE_NONE, TRIP_CATALOGUE_FAULT, or the number of a variable. */
	uint32_t faults;
	const char *name, *meaning;
};

struct trip_catalogue_event {
	uint32_t id;
	/* The number of the variable whose growth it is; its objects are the same. */
	uint32_t var;
	const char *name, *meaning;
};

#define TRIP_CATALOGUE_VARS 97
#define TRIP_CATALOGUE_EVENTS 10

extern const struct trip_catalogue_var trip_catalogue_vars[TRIP_CATALOGUE_VARS];
extern const struct trip_catalogue_event trip_catalogue_events[TRIP_CATALOGUE_EVENTS];

/* The row of a variable, or of an event, that objects of this scope have; -1: they have none. */
int trip_catalogue_var_of(uint32_t id, uint32_t scope);
int trip_catalogue_event_of(uint32_t id, uint32_t scope);

/* "_total", and so on, "_p" of quantiles; "" and "_ns", and so on. */
const char *trip_catalogue_kind(enum trip_profile_kind kind);
const char *trip_catalogue_unit(enum trip_profile_unit unit);

#endif
