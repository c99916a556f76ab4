/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>

#include "family.h"
#include "layout.h"
#include "traffic.h"

/* Lcore ids of the secondaries. */
#define LCORE_TESTS 8
#define LCORE_OTHER 9

static const struct {
	const char *word;
	enum layout layout;
	enum trip_progress progress;
	/* The tests' process polls the queues of the port. */
	bool polls;
} words[] = {
	{"secondary", LAYOUT_SECONDARY, TRIP_PROGRESS_LCORE, false},
	{"secondary-manual", LAYOUT_SECONDARY, TRIP_PROGRESS_MANUAL, false},
	{"secondary-polls", LAYOUT_SECONDARY, TRIP_PROGRESS_LCORE, true},
	{"secondary-polls-manual", LAYOUT_SECONDARY, TRIP_PROGRESS_MANUAL, true},
	{"split", LAYOUT_SPLIT, TRIP_PROGRESS_LCORE, false},
};

/* Of this program. */
static const struct CMUnitTest *all;
static size_t n_all;
static const char *word, *only;
static enum layout layout;

/* What the tests ask of the primary; an answer is that it is done. */
enum what {
	OPEN,
	CLOSE,
	SETTLE,
	ADVANCE,
	OPEN_OTHER,
	CLOSE_OTHER,
	OPEN_PORT,
	CLOSE_PORT,
	BURST,
	LOOP,
	OPEN_EACH,
	CLOSE_EACH,
};

struct request {
	enum what what;
	unsigned int homes;
	struct trip_domain_attr attr;
	struct trip_port_attr port;
	uint16_t queue, n, udp_port, bytes;
	uint64_t ns;
	struct trip_each_attr each;
	char each_name[TRIP_NAME_MAX + 1];
	struct trip_each_part each_parts[TRIP_EACH_PARTS_MAX];
	struct trip_each_when each_whens[TRIP_EACH_WHENS_MAX];
	struct trip_each_act each_acts[TRIP_EACH_WHENS_MAX];
	char each_trips[TRIP_NAME_MAX + 1];
};

struct answer {
	enum what what;
	/* Packets that are left. */
	uint16_t left;
};

/* ---- the secondary that runs the tests --------------------------------------------------------
 */

/* By any thread of the tests. */
static uint16_t
send_request(const struct request *request)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct answer answer;
	bool answered;

	pthread_mutex_lock(&lock);
	answered = family_send(FAMILY_SAID, request, sizeof(*request)) &&
		   family_receive(FAMILY_HEARD, &answer, sizeof(answer));
	pthread_mutex_unlock(&lock);
	if (!answered)
		fail_msg("the primary has ended");
	assert_int_equal(answer.what, request->what);
	return answer.left;
}

static void
ask(enum what what, unsigned int homes, const struct trip_domain_attr *attr)
{
	struct request request = {.what = what, .homes = homes};

	if (attr != NULL)
		request.attr = *attr;
	request.attr.lcores = NULL;
	(void)send_request(&request);
}

static void
attach(const char *name, struct trip_domain **domain)
{
	if (trip_domain_attach(
		    &(struct trip_domain_attach_attr){
			    .size = sizeof(struct trip_domain_attach_attr), .name = name},
		    domain, NULL) != 0)
		fail_msg("%s", trip_error_message());
}

static void
open_away(unsigned int homes, const struct trip_domain_attr *attr)
{
	ask(OPEN, homes, attr);
	attach(NULL, &harness_domain);
	if (layout == LAYOUT_SPLIT)
		split_attach();
}

static void
detach(struct trip_domain *domain)
{
	if (trip_domain_close(domain) != 0)
		fail_msg("%s", trip_error_message());
}

static void
close_away(void)
{
	if (layout == LAYOUT_SPLIT)
		split_detach();
	detach(harness_domain);
	harness_domain = NULL;
	ask(CLOSE, 0, NULL);
}

static void
settle_away(void)
{
	ask(SETTLE, 0, NULL);
}

static void
advance_away(uint64_t ns)
{
	const struct request request = {.what = ADVANCE, .ns = ns};

	(void)send_request(&request);
}

static struct trip_domain *
open_other_away(void)
{
	struct trip_domain *domain;

	ask(OPEN_OTHER, 0, NULL);
	attach("other", &domain);
	return domain;
}

static void
close_other_away(struct trip_domain *domain)
{
	detach(domain);
	ask(CLOSE_OTHER, 0, NULL);
}

static struct trip_port *
open_port_away(uint16_t n_queues, const struct trip_port_attr *attr)
{
	const struct request request = {.what = OPEN_PORT, .n = n_queues, .port = *attr};
	struct trip_port *port;

	(void)send_request(&request);
	if (trip_port_find(harness_domain, 0, &port) != 0)
		fail_msg("%s", trip_error_message());
	return port;
}

static void
close_port_away(struct trip_port *port)
{
	if (trip_port_close(port) != 0)
		fail_msg("%s", trip_error_message());
	ask(CLOSE_PORT, 0, NULL);
}

static uint16_t
burst_away(uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes)
{
	const struct request request = {
		.what = BURST, .queue = queue, .n = n, .udp_port = udp_port, .bytes = bytes};

	return send_request(&request);
}

static uint16_t
loop_away(uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes)
{
	const struct request request = {
		.what = LOOP, .queue = queue, .n = n, .udp_port = udp_port, .bytes = bytes};

	return send_request(&request);
}

static struct trip_each *
open_each_away(const struct trip_each_attr *attr, uint16_t udp_port)
{
	struct request request = {.what = OPEN_EACH, .each = *attr, .udp_port = udp_port};
	struct trip_each *each;

	strcpy(request.each_name, attr->name);
	memcpy(request.each_parts, attr->parts, attr->n_parts * sizeof(*attr->parts));
	for (uint32_t i = 0; i < attr->n_whens; i++)
		request.each_whens[i] = attr->whens[i];
	if (attr->acts != NULL)
		memcpy(request.each_acts, attr->acts, attr->n_whens * sizeof(*attr->acts));
	if (attr->trips != NULL)
		strcpy(request.each_trips, trip_cntr_name(attr->trips));
	(void)send_request(&request);
	if (trip_each_find(harness_domain, attr->name, &each) != 0)
		fail_msg("%s", trip_error_message());
	return each;
}

static void
close_each_away(struct trip_each *each)
{
	struct trip_each_info info = {.size = sizeof(info)};
	struct request request = {.what = CLOSE_EACH};

	assert_int_equal(trip_each_query(each, &info), 0);
	strcpy(request.each_name, info.name);
	if (trip_each_close(each) != 0)
		fail_msg("%s", trip_error_message());
	(void)send_request(&request);
}

static struct harness_away away = {
	.open = open_away,
	.close = close_away,
	.settle = settle_away,
	.advance = advance_away,
	.open_other = open_other_away,
	.close_other = close_other_away,
	.open_port = open_port_away,
	.close_port = close_port_away,
	.burst = burst_away,
	.loop = loop_away,
	.open_each = open_each_away,
	.close_each = close_each_away,
};

static void
run_elsewhere(void **state)
{
	print_message("%s\n", (const char *)*state);
	skip();
}

/* Those that cannot run here say why, instead. */
static struct CMUnitTest *
copy_tests(void)
{
	struct CMUnitTest *tests = calloc(n_all, sizeof(*tests));

	assert_non_null(tests);
	for (size_t i = 0; i < n_all; i++) {
		const char *why = elsewhere_why(all[i].name, layout);

		tests[i] = all[i];
		if (why == NULL)
			continue;
		tests[i].test_func = run_elsewhere;
		tests[i].setup_func = NULL;
		tests[i].teardown_func = NULL;
		tests[i].initial_state = (void *)(uintptr_t)why;
	}
	return tests;
}

/* "WORD SOCKET NAME" */
static void
play_tests(const char *arg)
{
	char is[32], name[128] = "";
	struct CMUnitTest *tests;
	int socket, result;

	assert_true(sscanf(arg, "%31s %d %127s", is, &socket, name) >= 2);
	for (unsigned int i = 0; i < RTE_DIM(words); i++) {
		if (strcmp(is, words[i].word) != 0)
			continue;
		layout = words[i].layout;
		if (words[i].polls)
			away.burst = NULL;
	}
	harness_mode = TRIP_PROGRESS_LCORE;
	harness_away = &away;
	if (layout == LAYOUT_SPLIT)
		split_start(socket);
	tests = copy_tests();
	result = harness_run(is, name[0] != 0 ? name : NULL, tests, n_all);
	free(tests);
	if (result != EXIT_SUCCESS)
		exit(result);
}

static void
play_other(const char *arg)
{
	split_serve(atoi(arg));
}

/* ---- the primary ------------------------------------------------------------------------------
 */

static struct trip_domain *other_domain;
static struct trip_port *port;

static void
open_here(const struct request *request)
{
	struct trip_domain_attr attr = request->attr;

	attr.max_processes = 2;
	/* A process may have all that there is. */
	attr.max_process_works = RTE_MAX(16u, RTE_MIN(attr.max_works, attr.max_events));
	attr.max_process_cntrs = attr.max_cntrs;
	attr.max_process_waiters = attr.max_waiters;
	attr.max_process_flows = attr.max_flows;
	harness_open(request->homes, &attr);
	family_look_on();
}

static void
close_here(void)
{
	harness_until(family_attached() == 0);
	family_look_away();
	harness_close();
}

/* Of the running test. */
static struct trip_each *eaches[8];
static struct trip_cntr *each_trips[8];

static void
open_each(struct request *request)
{
	const struct trip_cntr_attr cntr = {.size = sizeof(cntr), .name = request->each_trips};
	unsigned int i = 0;

	request->each.name = request->each_name;
	request->each.parts = request->each_parts;
	while (eaches[i] != NULL)
		assert_true(++i < RTE_DIM(eaches));
	request->each.whens = request->each_whens;
	request->each.acts = request->each_acts;
	if (request->each.trips != NULL)
		assert_int_equal(
			trip_cntr_find(harness_domain, &cntr, &request->each.trips, NULL), 0);
	each_trips[i] = request->each.trips;
	eaches[i] = traffic_each(port, &request->each, request->udp_port);
}

static void
close_each(const char *name)
{
	struct trip_each_info info = {.size = sizeof(info)};

	for (unsigned int i = 0; i < RTE_DIM(eaches); i++) {
		if (eaches[i] == NULL)
			continue;
		assert_int_equal(trip_each_query(eaches[i], &info), 0);
		if (strcmp(info.name, name) != 0)
			continue;
		traffic_each_close(eaches[i]);
		eaches[i] = NULL;
		if (each_trips[i] != NULL)
			harness_cntr_close(each_trips[i]);
	}
}

static struct answer
answer(struct request *request)
{
	struct answer answer = {.what = request->what};

	switch (request->what) {
	case OPEN:
		open_here(request);
		break;
	case CLOSE:
		close_here();
		break;
	case SETTLE:
		harness_settle();
		break;
	case ADVANCE:
		harness_advance(request->ns);
		break;
	case OPEN_OTHER:
		other_domain = harness_open_other();
		break;
	case CLOSE_OTHER:
		harness_until(trip_domain_close(other_domain) == 0);
		other_domain = NULL;
		break;
	case OPEN_PORT:
		port = traffic_open(request->n, &request->port);
		break;
	case CLOSE_PORT:
		traffic_close(port);
		break;
	case BURST:
		answer.left = traffic_burst(
			port, request->queue, request->n, request->udp_port, request->bytes);
		break;
	case LOOP:
		answer.left =
			traffic_loop(request->queue, request->n, request->udp_port, request->bytes);
		break;
	case OPEN_EACH:
		open_each(request);
		break;
	case CLOSE_EACH:
		close_each(request->each_name);
		break;
	}
	return answer;
}

/* Whether domains that progress by hand had something to do. */
static bool
progress(void)
{
	bool busy = other_domain != NULL && trip_progress(other_domain) > 0;

	if (harness_domain != NULL && harness_mode == TRIP_PROGRESS_MANUAL)
		busy |= trip_progress(harness_domain) > 0;
	return busy;
}

/* Domains that progress by hand do so meanwhile. Those that were idle rest for a moment, as a home
 * on an lcore would. */
static bool
next_request(const struct family_child *child, struct request *request)
{
	static const struct timespec at_once, moment = {.tv_nsec = 20000};
	struct pollfd entry = {.fd = child->from, .events = POLLIN};
	bool busy = true;

	while ((harness_mode == TRIP_PROGRESS_MANUAL || other_domain != NULL) &&
		ppoll(&entry, 1, busy ? &at_once : &moment, NULL) == 0)
		busy = progress();
	return family_receive(child->from, request, sizeof(*request));
}

/* Of the two ends, the child gets one. */
static struct family_child
start(const char *part, unsigned int lcore, int end)
{
	struct family_child child;
	char arg[256];

	if (strcmp(part, "tests") == 0)
		snprintf(arg, sizeof(arg), "%s %d %s", word, end, only != NULL ? only : "");
	else
		snprintf(arg, sizeof(arg), "%d", end);
	if (end >= 0)
		assert_int_equal(fcntl(end, F_SETFD, 0), 0);
	child = family_start(part, lcore, arg);
	if (end >= 0)
		assert_int_equal(close(end), 0);
	return child;
}

static int
serve(void)
{
	struct family_child tests, other = {0};
	int ends[2] = {-1, -1};
	struct request request;

	if (layout == LAYOUT_SPLIT) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		other = start("other", LCORE_OTHER, ends[1]);
	}
	tests = start("tests", LCORE_TESTS, ends[0]);
	while (next_request(&tests, &request)) {
		const struct answer done = answer(&request);

		if (!family_send(tests.to, &done, sizeof(done)))
			break;
	}
	family_join(&tests);
	if (layout == LAYOUT_SPLIT)
		family_join(&other);
	return 0;
}

/* ---- main -------------------------------------------------------------------------------------
 */

static const struct family_part parts[] = {
	{"tests", play_tests},
	{"other", play_other},
	{NULL, NULL},
};

static void
list(enum layout of)
{
	for (size_t i = 0; i < n_all; i++)
		if (elsewhere_why(all[i].name, of) == NULL)
			printf("%s\n", all[i].name);
}

bool
layout_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n, int *result)
{
	bool listed = argc == 3 && strcmp(argv[1], "list") == 0;
	const char *given = listed ? argv[2] : argc > 1 ? argv[1] : "";

	all = tests;
	n_all = n;
	family_device = TRAFFIC_VDEV;
	for (unsigned int i = 0; i < RTE_DIM(parts) - 1; i++)
		if (argc > 4 && strcmp(given, parts[i].name) == 0) {
			*result = family_main(argc, argv, parts, NULL);
			return true;
		}
	for (unsigned int i = 0; i < RTE_DIM(words); i++) {
		if (argc > 3 || strcmp(given, words[i].word) != 0)
			continue;
		layout = words[i].layout;
		if (listed) {
			list(layout);
			*result = EXIT_SUCCESS;
			return true;
		}
		harness_mode = words[i].progress;
		word = given;
		only = argc == 3 ? argv[2] : NULL;
		*result = family_main(1, argv, parts, serve);
		return true;
	}
	return false;
}
