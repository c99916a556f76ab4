/* SPDX-License-Identifier: BSD-3-Clause */
/* Versions: of the headers that a program is compiled with, and of the library that it has. */
#ifndef TRIP_VERSION_H
#define TRIP_VERSION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Of these headers. While MAJOR is 0, another MINOR is another interface. */
#define TRIP_VERSION_MAJOR 0
#define TRIP_VERSION_MINOR 2
#define TRIP_VERSION_PATCH 0

/** A version as a number, of which a later one is greater, and that of these headers. */
#define TRIP_VERSION_NUM(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))
#define TRIP_VERSION TRIP_VERSION_NUM(TRIP_VERSION_MAJOR, TRIP_VERSION_MINOR, TRIP_VERSION_PATCH)

/** As people write it: "0.2.0". */
#define TRIP_VERSION_QUOTED(text) #text
#define TRIP_VERSION_TEXT(major, minor, patch) \
	TRIP_VERSION_QUOTED(major) "." TRIP_VERSION_QUOTED(minor) "." TRIP_VERSION_QUOTED(patch)
#define TRIP_VERSION_STRING \
	TRIP_VERSION_TEXT(TRIP_VERSION_MAJOR, TRIP_VERSION_MINOR, TRIP_VERSION_PATCH)

/**
 * The version of the library: its TRIP_VERSION. Any thread of any process, attached or not.
 *
 * A structure that begins with its size is as long as the headers of the program say. The library
 * takes shorter ones than its own, and refuses longer ones with -EINVAL: so whoever would run with
 * an earlier library than that of these headers asks here first.
 */
uint32_t trip_version(void);

#ifdef __cplusplus
}
#endif

#endif
