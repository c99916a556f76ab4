/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same random script of counter, poll and deferred-work calls through Debian's libfabric and
 * through Tripline, for what the peer does right: every result and every value must be equal.
 *
 * What the peer does wrong is left out of the script, and probed by name instead: each probe prints
 * what the peer does, by which call, and asserts what we do. The names:
 *
 *	poll reports	fi_poll() leaves out errors, or reports what has not changed
 *	poll flags	fi_poll_add() takes flags, which fi_poll(3) keeps for the future
 *	member twice	fi_poll_add() takes one counter twice
 *	no work		fi_control(FI_QUEUE_WORK) is not there
 *	firing order	deferred work fires in the order of submission
 *	success alone	it is compared with success, not with success plus error
 *	32-bit compare	values and thresholds are cut to 32 bits
 *	cancel		fi_control(FI_CANCEL_WORK) and FI_FLUSH_WORK are not there
 *	error wakes one	fi_cntr_wait() of all others goes on after fi_cntr_adderr()
 */
#include <trip_test.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>

#include <trip.h>
#include <trip_eal.h>

#define CNTRS 6
#define STEPS 20000
/* The peer walks a list of all pending work at each update: more than a few hundred take minutes.
 */
#define WORKS 200
#define WAIT_MS 300

struct peer {
	const char *provider;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cntr *cntrs[CNTRS];
	struct fid_poll *poll;
};

struct ours {
	struct trip_domain *domain;
	struct trip_cntr *cntrs[CNTRS];
	struct trip_poll_set *poll;
};

static struct trip_random rnd;
static struct ours ours;

static bool
peer_open(struct peer *peer, const char *provider)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cntr_attr cntr_attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_poll_attr poll_attr = {0};
	int error;

	memset(peer, 0, sizeof(*peer));
	peer->provider = provider;
	hints->fabric_attr->prov_name = strdup(provider);
	error = fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &peer->info);
	fi_freeinfo(hints);
	if (error != 0)
		return false;
	if (fi_fabric(peer->info->fabric_attr, &peer->fabric, NULL) != 0 ||
		fi_domain(peer->fabric, peer->info, &peer->domain, NULL) != 0 ||
		fi_poll_open(peer->domain, &poll_attr, &peer->poll) != 0)
		return false;
	for (uintptr_t i = 0; i < CNTRS; i++)
		if (fi_cntr_open(peer->domain, &cntr_attr, &peer->cntrs[i], (void *)i) != 0)
			return false;
	return true;
}

static void
peer_close(struct peer *peer)
{
	fi_close(&peer->poll->fid);
	for (unsigned int i = 0; i < CNTRS; i++)
		fi_close(&peer->cntrs[i]->fid);
	fi_close(&peer->domain->fid);
	fi_close(&peer->fabric->fid);
	fi_freeinfo(peer->info);
}

static void
ours_open(void)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_UNSPEC};

	assert_int_equal(trip_domain_open(NULL, &ours.domain, NULL), 0);
	assert_int_equal(trip_poll_open(ours.domain, NULL, &ours.poll), 0);
	for (uintptr_t i = 0; i < CNTRS; i++)
		assert_int_equal(trip_cntr_open(ours.domain, &attr, &ours.cntrs[i], (void *)i), 0);
}

static void
ours_settle(void)
{
	while (trip_progress(ours.domain) > 0)
		;
}

static void
ours_close(void)
{
	assert_int_equal(trip_work_flush(ours.domain, NULL), 0);
	assert_int_equal(trip_poll_close(ours.poll), 0);
	for (unsigned int i = 0; i < CNTRS; i++)
		assert_int_equal(trip_cntr_close(ours.cntrs[i]), 0);
	assert_int_equal(trip_domain_check(ours.domain, stderr), 0);
	assert_int_equal(trip_domain_close(ours.domain), 0);
}

static void
same_values(struct peer *peer)
{
	ours_settle();
	for (unsigned int i = 0; i < CNTRS; i++) {
		assert_int_equal(fi_cntr_read(peer->cntrs[i]), trip_cntr_read(ours.cntrs[i]));
		assert_int_equal(fi_cntr_readerr(peer->cntrs[i]), trip_cntr_readerr(ours.cntrs[i]));
	}
}

static void
step_update(struct peer *peer)
{
	unsigned int i = (unsigned int)trip_random_below(&rnd, CNTRS);
	uint64_t value = trip_random_below(&rnd, 100);

	switch (trip_random_below(&rnd, 8)) {
	case 0:
		/* The peer's waiters and works see nothing of a lower value, and neither do ours.
		 */
		assert_int_equal(
			fi_cntr_set(peer->cntrs[i], value), trip_cntr_set(ours.cntrs[i], value));
		break;
	case 1:
		assert_int_equal(fi_cntr_adderr(peer->cntrs[i], value),
			trip_cntr_adderr(ours.cntrs[i], value));
		break;
	case 2:
		assert_int_equal(fi_cntr_seterr(peer->cntrs[i], value),
			trip_cntr_seterr(ours.cntrs[i], value));
		break;
	default:
		assert_int_equal(
			fi_cntr_add(peer->cntrs[i], value), trip_cntr_add(ours.cntrs[i], value));
	}
}

/* A threshold that is met; an unmet one makes some providers block in spite of a timeout of 0. */
static void
step_wait(struct peer *peer)
{
	unsigned int i = (unsigned int)trip_random_below(&rnd, CNTRS);
	uint64_t met = trip_random_below(&rnd, trip_cntr_read(ours.cntrs[i]) + 1);

	assert_int_equal(fi_cntr_wait(peer->cntrs[i], met, WAIT_MS), 0);
	assert_int_equal(trip_cntr_wait(ours.cntrs[i], met, WAIT_MS), 0);
}

static void
counters_agree(struct peer *peer)
{
	for (uint64_t i = 0; i < trip_test_rounds(STEPS); i++) {
		step_update(peer);
		/* Reads the errors, too: the peer's next wait fails for one that nobody has read.
		 */
		same_values(peer);
		if (trip_random_below(&rnd, 4) == 0)
			step_wait(peer);
	}
}

static unsigned int
change_some(struct peer *peer, bool changed[CNTRS])
{
	unsigned int n = 0;

	for (uint64_t i = trip_random_below(&rnd, 3); i > 0; i--) {
		unsigned int c = (unsigned int)trip_random_below(&rnd, CNTRS);
		uint64_t value = 1 + trip_random_below(&rnd, 100);

		if (trip_random_below(&rnd, 4) == 0) {
			fi_cntr_adderr(peer->cntrs[c], value);
			trip_cntr_adderr(ours.cntrs[c], value);
		} else {
			fi_cntr_add(peer->cntrs[c], value);
			trip_cntr_add(ours.cntrs[c], value);
		}
		n += !changed[c];
		changed[c] = true;
	}
	return n;
}

/* We report what has changed, and nothing else; the peer may report more (a provider that
 * progresses does), and less, since all changes are the process's own. */
static void
polls_agree(struct peer *peer)
{
	unsigned int more = 0, less = 0;
	void *theirs[CNTRS], *own[CNTRS];

	for (unsigned int i = 0; i < CNTRS; i++) {
		assert_int_equal(fi_poll_add(peer->poll, &peer->cntrs[i]->fid, 0), 0);
		assert_int_equal(trip_poll_add(ours.poll, trip_cntr_fid(ours.cntrs[i]), 0), 0);
	}
	fi_poll(peer->poll, theirs, CNTRS);
	for (uint64_t round = 0; round < trip_test_rounds(STEPS) / 10; round++) {
		bool changed[CNTRS] = {false};
		unsigned int n = change_some(peer, changed);
		int reported = fi_poll(peer->poll, theirs, CNTRS);

		assert_true(reported >= 0 && reported <= CNTRS);
		less += n;
		for (int i = 0; i < reported; i++) {
			less -= changed[(uintptr_t)theirs[i]];
			more += !changed[(uintptr_t)theirs[i]];
		}
		assert_int_equal(trip_poll(ours.poll, own, CNTRS), n);
		for (unsigned int i = 0; i < n; i++)
			assert_true(changed[(uintptr_t)own[i]]);
	}
	printf("%s: poll reports: fi_poll() reported %u counters that had not changed, and left "
	       "out %u that "
	       "had\n",
		peer->provider, more, less);
	for (unsigned int i = 0; i < CNTRS; i++) {
		assert_int_equal(fi_poll_del(peer->poll, &peer->cntrs[i]->fid, 0), 0);
		assert_int_equal(trip_poll_del(ours.poll, trip_cntr_fid(ours.cntrs[i]), 0), 0);
	}
}

/* The counter is no member now. */
static void
probe_member(struct peer *peer)
{
	struct fid *theirs = &peer->cntrs[0]->fid;
	struct trip_fid *own = trip_cntr_fid(ours.cntrs[0]);
	int first = fi_poll_add(peer->poll, theirs, 0), again = fi_poll_add(peer->poll, theirs, 0);
	int gone = fi_poll_del(peer->poll, theirs, 0), stranger, flags;

	if (again == 0)
		fi_poll_del(peer->poll, theirs, 0);
	stranger = fi_poll_del(peer->poll, theirs, 0);
	flags = fi_poll_add(peer->poll, theirs, 1);
	if (flags == 0)
		fi_poll_del(peer->poll, theirs, 0);
	printf("%s: poll flags: fi_poll_add() with flags 1 is %d\n", peer->provider, flags);
	printf("%s: member twice: fi_poll_add() is %d, and again %d; fi_poll_del() is %d, and of a "
	       "stranger %d\n",
		peer->provider, first, again, gone, stranger);
	assert_int_equal(trip_poll_add(ours.poll, own, 1), -EINVAL);
	assert_int_equal(trip_poll_add(ours.poll, own, 0), 0);
	assert_int_equal(trip_poll_add(ours.poll, own, 0), -EEXIST);
	assert_int_equal(trip_poll_del(ours.poll, own, 0), 0);
	assert_int_equal(trip_poll_del(ours.poll, own, 0), -ENOENT);
}

static int
peer_queue(struct peer *peer, struct fi_deferred_work *work, struct fi_op_cntr *op,
	unsigned int trigger, uint64_t threshold, enum fi_op_type type)
{
	work->triggering_cntr = peer->cntrs[trigger];
	work->threshold = threshold;
	work->op_type = type;
	work->op.cntr = op;
	return fi_control(&peer->domain->fid, FI_QUEUE_WORK, work);
}

static int
ours_queue(unsigned int trigger, uint64_t threshold, enum trip_op type, unsigned int target,
	uint64_t value)
{
	struct trip_work work = {
		.size = sizeof(work),
		.triggering_cntr = ours.cntrs[trigger],
		.threshold = threshold,
		.op_type = type,
		.op.cntr = {.cntr = ours.cntrs[target], .value = value},
	};

	return trip_work_queue(ours.domain, &work, NULL);
}

/* Counter 0 triggers adds to the others: their sums do not depend on the order of firing. */
static void
works_agree(struct peer *peer)
{
	static struct fi_deferred_work works[WORKS];
	static struct fi_op_cntr ops[WORKS];
	uint64_t base = trip_cntr_read(ours.cntrs[0]);

	/* The peer compares thresholds with success alone: see probe_sum(). */
	fi_cntr_seterr(peer->cntrs[0], 0);
	trip_cntr_seterr(ours.cntrs[0], 0);
	memset(works, 0, sizeof(works));
	for (unsigned int i = 0; i < WORKS; i++) {
		unsigned int target = 1 + (unsigned int)trip_random_below(&rnd, CNTRS - 1);
		uint64_t value = trip_random_below(&rnd, 100);
		uint64_t threshold = base + trip_random_below(&rnd, 1000);

		ops[i] = (struct fi_op_cntr){.cntr = peer->cntrs[target], .value = value};
		assert_int_equal(
			peer_queue(peer, &works[i], &ops[i], 0, threshold, FI_OP_CNTR_ADD), 0);
		assert_int_equal(ours_queue(0, threshold, TRIP_OP_CNTR_ADD, target, value), 0);
	}
	while (trip_cntr_read(ours.cntrs[0]) < base + 1000) {
		uint64_t value = trip_random_below(&rnd, 60);

		fi_cntr_add(peer->cntrs[0], value);
		trip_cntr_add(ours.cntrs[0], value);
		same_values(peer);
	}
}

/* Three sets of one counter, submitted as 3, 1, 2 and made due by one jump: the last to fire wins.
 */
static void
probe_order(struct peer *peer)
{
	static const uint64_t thresholds[] = {3, 1, 2};
	struct fi_deferred_work works[3] = {0};
	struct fi_op_cntr ops[3];

	fi_cntr_set(peer->cntrs[0], 0);
	fi_cntr_seterr(peer->cntrs[0], 0);
	trip_cntr_set(ours.cntrs[0], 0);
	trip_cntr_seterr(ours.cntrs[0], 0);
	for (unsigned int i = 0; i < 3; i++) {
		ops[i] = (struct fi_op_cntr){.cntr = peer->cntrs[1], .value = thresholds[i]};
		peer_queue(peer, &works[i], &ops[i], 0, thresholds[i], FI_OP_CNTR_SET);
		ours_queue(0, thresholds[i], TRIP_OP_CNTR_SET, 1, thresholds[i]);
	}
	fi_cntr_add(peer->cntrs[0], 3);
	trip_cntr_add(ours.cntrs[0], 3);
	ours_settle();
	printf("%s: firing order: of 3, 1, 2 (FI_OP_CNTR_SET by one jump) the last to fire was "
	       "%" PRIu64 "; fi_trigger(3) says 3\n",
		peer->provider, fi_cntr_read(peer->cntrs[1]));
	assert_int_equal(trip_cntr_read(ours.cntrs[1]), 3);
}

/* The condition is success + error: one of each, for a threshold of 2. */
static void
probe_sum(struct peer *peer)
{
	struct fi_deferred_work work = {0};
	struct fi_op_cntr op = {.cntr = peer->cntrs[4], .value = 77};

	fi_cntr_set(peer->cntrs[5], 0);
	fi_cntr_seterr(peer->cntrs[5], 0);
	trip_cntr_set(ours.cntrs[5], 0);
	trip_cntr_seterr(ours.cntrs[5], 0);
	peer_queue(peer, &work, &op, 5, 2, FI_OP_CNTR_SET);
	ours_queue(5, 2, TRIP_OP_CNTR_SET, 4, 77);
	fi_cntr_add(peer->cntrs[5], 1);
	fi_cntr_adderr(peer->cntrs[5], 1);
	trip_cntr_add(ours.cntrs[5], 1);
	trip_cntr_adderr(ours.cntrs[5], 1);
	ours_settle();
	printf("%s: success alone: an item of FI_QUEUE_WORK with threshold 2 %s at 1 success and 1 "
	       "error; fi_trigger(3) says success plus error\n",
		peer->provider, fi_cntr_read(peer->cntrs[4]) == 77 ? "fires" : "does not fire");
	assert_int_equal(trip_cntr_read(ours.cntrs[4]), 77);
}

static void
probe_cancel(struct peer *peer)
{
	struct fi_deferred_work work = {0};
	struct fi_op_cntr op = {.cntr = peer->cntrs[1], .value = 1};
	struct trip_work own = {
		.size = sizeof(own),
		.triggering_cntr = ours.cntrs[0],
		.threshold = 1000000,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = ours.cntrs[1], .value = 1},
	};
	uint64_t id;

	peer_queue(peer, &work, &op, 0, 1000000, FI_OP_CNTR_ADD);
	printf("%s: cancel: fi_control(FI_CANCEL_WORK) is %d, FI_FLUSH_WORK is %d\n",
		peer->provider, fi_control(&peer->domain->fid, FI_CANCEL_WORK, &work),
		fi_control(&peer->domain->fid, FI_FLUSH_WORK, NULL));
	assert_int_equal(trip_work_queue(ours.domain, &own, &id), 0);
	assert_int_equal(trip_work_cancel(ours.domain, id), 0);
	assert_int_equal(trip_work_flush(ours.domain, NULL), 0);
}

/* Values beyond 32 bits. */
static void
probe_large(struct peer *peer)
{
	const uint64_t large = (UINT64_C(1) << 32) + 5;

	fi_cntr_set(peer->cntrs[2], large);
	trip_cntr_set(ours.cntrs[2], large);
	printf("%s: 32-bit compare: 2^32+5 reads back as %" PRIu64
	       ", fi_cntr_wait() for 2^32 is %d\n",
		peer->provider, fi_cntr_read(peer->cntrs[2]),
		fi_cntr_wait(peer->cntrs[2], UINT64_C(1) << 32, WAIT_MS));
	assert_int_equal(trip_cntr_read(ours.cntrs[2]), large);
	assert_int_equal(trip_cntr_wait(ours.cntrs[2], UINT64_C(1) << 32, 0), 0);
}

/* Thresholds beyond 32 bits. */
static void
probe_large_work(struct peer *peer)
{
	const uint64_t large = (UINT64_C(1) << 32) + 5;
	struct fi_deferred_work work = {0};
	struct fi_op_cntr op = {.cntr = peer->cntrs[2], .value = 99};
	bool early;

	for (unsigned int i = 1; i < 3; i++) {
		fi_cntr_set(peer->cntrs[i], 0);
		fi_cntr_seterr(peer->cntrs[i], 0);
		trip_cntr_set(ours.cntrs[i], 0);
		trip_cntr_seterr(ours.cntrs[i], 0);
	}
	peer_queue(peer, &work, &op, 1, large, FI_OP_CNTR_SET);
	ours_queue(1, large, TRIP_OP_CNTR_SET, 2, 99);
	fi_cntr_add(peer->cntrs[1], 5);
	trip_cntr_add(ours.cntrs[1], 5);
	ours_settle();
	assert_int_equal(trip_cntr_read(ours.cntrs[2]), 0);
	early = fi_cntr_read(peer->cntrs[2]) == 99;
	fi_cntr_add(peer->cntrs[1], large - 5);
	trip_cntr_add(ours.cntrs[1], large - 5);
	ours_settle();
	assert_int_equal(trip_cntr_read(ours.cntrs[2]), 99);
	printf("%s: 32-bit compare: an item of FI_QUEUE_WORK with threshold 2^32+5 %s at 5, and %s "
	       "at 2^32+5\n",
		peer->provider, early ? "fires" : "does not fire",
		fi_cntr_read(peer->cntrs[2]) == 99 ? "has fired" : "has not fired");
}

/* The compared scripts of work are for those who have it. */
static bool
probe_work(struct peer *peer)
{
	static struct fi_deferred_work work;
	static struct fi_op_cntr op;
	int result;

	memset(&work, 0, sizeof(work));
	op = (struct fi_op_cntr){.cntr = peer->cntrs[1], .value = 0};
	result = peer_queue(peer, &work, &op, 0, UINT64_C(1) << 30, FI_OP_CNTR_ADD);
	if (result != 0)
		printf("%s: no work: fi_control(FI_QUEUE_WORK) is %d; nothing of deferred work is "
		       "compared\n",
			peer->provider, result);
	return result == 0;
}

struct blocked {
	struct fid_cntr *theirs;
	struct trip_cntr *own;
	int result;
};

static void *
block(void *arg)
{
	struct blocked *blocked = arg;

	blocked->result = blocked->theirs != NULL
				  ? fi_cntr_wait(blocked->theirs, UINT64_C(1) << 30, WAIT_MS)
				  : trip_cntr_wait_from(blocked->own, UINT64_C(1) << 30, 0, -1);
	return NULL;
}

/* Two waiters and one error: all are to wake. Ours wait for ever, from an error that comes first.
 */
static void
probe_error(struct peer *peer)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_UNSPEC};
	struct blocked blocked[4] = {{.theirs = peer->cntrs[3]}, {.theirs = peer->cntrs[3]},
		{.result = 0}, {.result = 0}};
	struct trip_cntr *fresh;
	pthread_t threads[4];

	assert_int_equal(trip_cntr_open(ours.domain, &attr, &fresh, NULL), 0);
	blocked[2].own = blocked[3].own = fresh;
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, block, &blocked[i]), 0);
	fi_cntr_adderr(peer->cntrs[3], 1);
	trip_cntr_adderr(fresh, 1);
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%s: error wakes one: two waiters got %d and %d from one fi_cntr_adderr()\n",
		peer->provider, blocked[0].result, blocked[1].result);
	assert_int_equal(blocked[2].result, -EIO);
	assert_int_equal(blocked[3].result, -EIO);
	assert_int_equal(trip_cntr_close(fresh), 0);
}

static void
compare(const char *provider)
{
	struct peer peer;

	if (!peer_open(&peer, provider)) {
		printf("%s: this machine's libfabric does not have it\n", provider);
		skip();
	}
	rnd.state = trip_test_seed(provider);
	ours_open();
	counters_agree(&peer);
	polls_agree(&peer);
	probe_member(&peer);
	if (probe_work(&peer)) {
		works_agree(&peer);
		probe_order(&peer);
		probe_sum(&peer);
		probe_cancel(&peer);
		probe_large_work(&peer);
	}
	probe_large(&peer);
	probe_error(&peer);
	ours_close();
	peer_close(&peer);
}

static void
sockets(void **state)
{
	compare("sockets");
}

static void
tcp(void **state)
{
	compare("tcp");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets),
		cmocka_unit_test(tcp),
	};

	if (trip_eal_init(NULL) < 0)
		return TRIP_TEST_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
