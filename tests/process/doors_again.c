/* SPDX-License-Identifier: BSD-3-Clause */
/* Who attaches is told what keeps it out. */
#include <errno.h>
#include <string.h>

#include "domain.h"
#include "doors.h"
#include "process.h"
#include "server.h"
#include "share.h"

static void
attach_by(const struct family_child *child, const char *what, size_t at)
{
	int error = doors_tell(child, 'a');

	switch (error) {
	case 0:
		/* What is garbage there is nothing to it, as behind the end of the path. */
		assert_int_equal(doors_tell(child, 'c'), 0);
		family_until(!family_domain->server->processes[0].used);
		break;
	case -EPROTO:
	case -EAGAIN:
	case -ENOTSUP:
	/* What the path then leads to. */
	case -ENOENT:
	case -ENOTDIR:
	case -ECONNREFUSED:
		break;
	default:
		fail_msg("a header with %s at %zu is told of by %d", what, at, error);
	}
}

void
a_header_of_garbage_is_refused(void **state)
{
	static const struct {
		const char *name;
		uint32_t word;
	} garbage[] = {{"zeros", 0}, {"a one", 1}, {"ones", UINT32_MAX}, {"text", 0x74656d2f}};
	struct trip_random random = {.state = trip_test_seed("doors")};
	struct family_child child;
	struct trip_share before;
	uint32_t *words;

	doors_open_domain(NULL);
	child = doors_invite(8);
	words = (uint32_t *)family_domain->share;
	memcpy(&before, words, sizeof(before));
	for (size_t w = 0; w < sizeof(before) / sizeof(*words); w++)
		for (unsigned int g = 0; g < sizeof(garbage) / sizeof(*garbage); g++) {
			words[w] = garbage[g].word;
			attach_by(&child, garbage[g].name, w * sizeof(*words));
			memcpy(words, &before, sizeof(before));
		}
	for (unsigned int i = 0; i < 20; i++) {
		for (size_t w = i % 2 * 2; w < sizeof(before) / sizeof(*words); w++)
			words[w] = (uint32_t)trip_random_u64(&random);
		attach_by(&child, "a random number from", i % 2 * 8);
		memcpy(words, &before, sizeof(before));
	}
	assert_int_equal(doors_tell(&child, 'a'), 0);
	assert_int_equal(doors_tell(&child, 'c'), 0);
	doors_say_goodbye(&child);
	assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	doors_close_domain();
}
