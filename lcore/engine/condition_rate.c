/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RATE: at least so many within a time (COND-03, COND-04, COND-05): a threshold that moves, to what
 * the counter showed a window ago, plus so many. Cuts divide the time, PARTS of them a window, and
 * what the counter showed at each is kept for a window. The item stands so many above the oldest
 * that is less than a window old: so it fires with the burst in which the last of them comes.
 *
 * Never early: what is kept of a cut is a sum that has all that came before the cut. So what is
 * above it came behind the cut, and that is less than a window ago.
 *
 * The first windows begin with what the counter showed where the item was queued, or with its
 * threshold, where it comes to that only later.
 *
 * None missed: the last cut before a window that is 1/64 shorter is less than a whole one behind
 * its end, so all of that window is above what is kept of the cut, provided that was read before
 * the window began. There is room for a look that is late by 1/64 - 1/PARTS of the window, which is
 * an eighth of a part. Looks are late on purpose by less than a quarter of that (GRID).
 *
 * Where it has an until, it stands nowhere once it has fired, and there is a look at each cut,
 * which are as far apart as that wants them.
 *
 * The item is not moved at each cut. It stands too low then, which costs a look when it is reached,
 * once in so many counts. A counter that has stood still for a part has the item stand just above
 * its sum, and no alarm: an idle one costs nothing. When it is reached, the cuts until `since` are
 * known to have had that sum. Not where it is behind, nor where the home may sleep for long: there
 * nobody knows when the next one came. A home that sleeps wakes for an alarm.
 */
#include <string.h>

#include <rte_common.h>

#include "condition.h"
#include "glance.h"
#include "home.h"
#include "node.h"

/* Sums in a node, and nodes of them. */
#define SUMS (TRIP_OPERANDS_MAX / 8)
#define NODES (TRIP_CHANNEL_MEMORY - 1)
#define PARTS (SUMS * NODES)
/* Looks are due at multiples of a time, so that those of about the same moment have one round of
 * the clock: a part divided by this at most, and more than half of that. */
#define GRID 32

/* So short that what is lost of a window because a part is a whole number of nanoseconds, fewer
 * than PARTS, would use up the room for looks that are late. */
#define TIME_MIN 100000

/* The most that a counter shows. Nothing stands above that, so there is a look at each cut. */
#define SUM_MAX (2 * TRIP_CNTR_MAX)

_Static_assert(SUM_MAX == TRIP_PENDING_NONE - 1, "an item may stand there");

struct rate {
	uint64_t count, time, until_count, until_time;
};

enum phase {
	/* The threshold of the item was not reached yet. */
	RATE_BEFORE,
	/* Flows in hardware have not told yet what came before the windows began. */
	RATE_BEGINS,
	/* The counter advances. */
	RATE_COUNTS,
	/* It stands just below where the item stands. */
	RATE_RESTS,
	/* It has fired, and does not fire again before it is over. */
	RATE_HOLDS,
};

/* In the first node; the others are a ring of sums. Cuts have numbers: that of `begin` is 0. */
struct windows {
	/* What the counter showed at all cuts before those of which a sum is kept, and when the
	 * first was. RATE_BEFORE: as in struct trip_condition_queued. */
	uint64_t base, begin;
	/* The last cut that is known; of how many up to it a sum is kept. */
	uint64_t cut;
	/* Where the last sum is, or would be. */
	uint32_t node;
	uint8_t place;
	uint8_t kept;
	uint8_t phase;
	/* The item does, until it is reached. */
	bool stands;
	/* From one cut to the next: never so long that PARTS of them are more than a window. */
	uint64_t part;
	/* What it showed at the last cut. */
	uint64_t last;
};

_Static_assert(sizeof(struct rate) <= TRIP_CONDITION_MEMORY, "it has no more");
_Static_assert(sizeof(struct windows) <= TRIP_OPERANDS_MAX, "a node has no more");
_Static_assert(
	offsetof(struct windows, phase) >= sizeof(struct trip_condition_queued) &&
		offsetof(struct windows, begin) == offsetof(struct trip_condition_queued, known),
	"at first it is RATE_BEFORE");
_Static_assert((PARTS - 64) * GRID >= 4 * 64, "late looks have some room beside the grid's");

static bool
is_within(const char *operand, uint64_t value, uint64_t low, struct trip_op_refusal *refusal)
{
	*refusal = (struct trip_op_refusal){
		.operand = operand, .value = value, .low = low, .limit = TRIP_CNTR_MAX};
	return value >= low && value <= TRIP_CNTR_MAX;
}

static bool
has_until(const void *parameters)
{
	const struct rate *rate = parameters;

	return (rate->until_count | rate->until_time) != 0;
}

static bool
takes(const void *parameters, uint64_t interval, struct trip_op_refusal *refusal)
{
	const struct rate *rate = parameters;

	if (!is_within("count", rate->count, 1, refusal) ||
		!is_within("time", rate->time, TIME_MIN, refusal))
		return false;
	return !has_until(rate) ||
	       (is_within("until_count", rate->until_count, 1, refusal) &&
		       is_within("until_time", rate->until_time, TIME_MIN, refusal) &&
		       is_within("interval", interval, 1, refusal));
}

static void
tell(const void *parameters, struct trip_condition_told *told)
{
	const struct rate *rate = parameters;

	*told = (struct trip_condition_told){
		rate->count, rate->time, rate->until_count, rate->until_time};
}

/* ---- cuts ---- */

/* The last cut until then. */
static uint64_t
cut_at(const struct windows *windows, uint64_t ns)
{
	return ns > windows->begin ? (ns - windows->begin) / windows->part : 0;
}

/* On by one place in the ring of sums. */
static void
step(const struct trip_home *home, uint32_t first, uint32_t *node, uint8_t *place)
{
	if (++*place < SUMS)
		return;
	*place = 0;
	*node = home->nodes[*node].more;
	if (*node == TRIP_NONE)
		*node = home->nodes[first].more;
}

/* What the counter showed at a cut that is known, of which PARTS are. */
static uint64_t
sum_at(const struct trip_condition_look *look, const struct windows *windows, uint64_t cut)
{
	uint32_t node = windows->node;
	uint8_t place = windows->place;

	if (windows->cut - cut >= windows->kept)
		return windows->base;
	/* The oldest, mostly: it is the next one in the ring. */
	for (uint64_t n = PARTS - (windows->cut - cut); n > 0 && n < PARTS; n--)
		step(look->home, look->first, &node, &place);
	return look->home->nodes[node].operands[place];
}

static void
keep(struct trip_home *home, uint32_t first, struct windows *windows, uint64_t sum)
{
	step(home, first, &windows->node, &windows->place);
	home->nodes[windows->node].operands[windows->place] = sum;
	windows->cut++;
	windows->kept += windows->kept < PARTS;
}

/* At each cut as far as this that is not known yet, it showed so much. */
static void
keep_as_far(
	const struct trip_condition_look *look, struct windows *windows, uint64_t cut, uint64_t sum)
{
	if (cut >= windows->cut + PARTS) {
		windows->cut = cut;
		windows->base = sum;
		windows->kept = 0;
	}
	while (windows->cut < cut)
		keep(look->home, look->first, windows, sum);
}

static void
keep_until(
	const struct trip_condition_look *look, struct windows *windows, uint64_t ns, uint64_t sum)
{
	keep_as_far(look, windows, cut_at(windows, ns), sum);
}

/* Windows begin now: none that began before counts. */
static void
begin(struct trip_condition_look *look, struct windows *windows)
{
	const struct rate *rate = look->memory;

	*windows = (struct windows){
		.part = rate->time / PARTS,
		.begin = look->behind ? trip_condition_now(look) : look->known,
		.base = look->sum,
		.phase = look->behind ? RATE_BEGINS : RATE_RESTS,
		.node = look->home->nodes[look->first].more,
	};
}

/* They begin with what is above the threshold, and came since the item was queued; where nobody
 * knows when that was, now. */
static void
begin_queued(struct trip_condition_look *look, struct windows *windows)
{
	struct trip_condition_queued queued;
	uint64_t threshold = look->home->nodes[look->item].threshold;
	bool later;

	memcpy(&queued, windows, sizeof(queued));
	begin(look, windows);
	later = queued.known == TRIP_CONDITION_LATER;
	if (later)
		queued = (struct trip_condition_queued){.sum = threshold, .known = look->since};
	if (look->set)
		queued.sum = look->set_to;
	if ((look->behind && (later || look->set)) || RTE_MAX(queued.sum, threshold) > look->sum)
		return;
	windows->base = RTE_MAX(queued.sum, threshold);
	windows->begin = RTE_MIN(queued.known, look->known);
	windows->phase = RATE_COUNTS;
}

/* What it showed at the oldest cut that is less than a window ago; TRIP_PENDING_NONE: nobody knows,
 * as the counter is behind by more than a window. */
static uint64_t
oldest(const struct trip_condition_look *look, const struct windows *windows)
{
	uint64_t cut = cut_at(windows, trip_condition_now(look));

	cut = cut > PARTS - 1 ? cut - (PARTS - 1) : 0;
	return cut <= windows->cut ? sum_at(look, windows, cut) : TRIP_PENDING_NONE;
}

/* Never before then. */
static uint64_t
round_up(const struct windows *windows, uint64_t ns)
{
	uint64_t grid = UINT64_C(1) << (63 - __builtin_clzll(windows->part / GRID));

	return (ns + grid - 1) & ~(grid - 1);
}

/* When all until the next cut is likely to be known; as looks are late by what they wait for that,
 * they are less than a part apart. */
static uint64_t
next_look(const struct trip_condition_look *look, const struct windows *windows)
{
	uint64_t next = windows->begin + (windows->cut + 1) * windows->part, now;

	if (!look->behind)
		return round_up(windows, next);
	now = trip_condition_now(look);
	return RTE_MAX(next + (now - look->known), now + windows->part / 8);
}

/* The counter has advanced since the last cut, or may have. */
static void
count_on(struct trip_condition_look *look, struct windows *windows, uint64_t from)
{
	const struct rate *rate = look->memory;

	if (windows->phase == RATE_RESTS)
		windows->phase = RATE_COUNTS;
	/* Nobody knows from where, or nothing is above what it shows. */
	windows->stands = from != TRIP_PENDING_NONE && look->sum < SUM_MAX;
	windows->last = sum_at(look, windows, windows->cut);
	/* Where no counter can show so much more it stands at the most that one can: as long as
	 * nothing does, a set rings nobody. */
	if (!windows->stands)
		trip_condition_lift(look);
	else if (!look->stands)
		trip_condition_stand(look, from + RTE_MIN(rate->count, SUM_MAX - from));
	if (!look->alarmed)
		trip_condition_alarm(look, next_look(look, windows));
}

/* ---- until it is over ---- */

/* So much later than a cut may be read what is kept of it. */
static uint64_t
slack_of(const struct rate *rate)
{
	return rate->until_time / 1024;
}

/*
 * From now on what is kept of a cut is a sum without what came later than the slack behind it. So
 * what is not above it came before, and all that came within a time that begins there is. Then no
 * end is early; and the oldest cut that is kept is so far back when there is a look at the next one
 * that the time is over, by as much as the slack and what the counter is behind now.
 */
static void
hold(struct trip_condition_look *look, struct windows *windows)
{
	const struct rate *rate = look->memory;
	uint64_t now = trip_condition_now(look);
	/* It may be twice as much later. */
	uint64_t behind = look->behind ? now - look->known : 0;

	*windows = (struct windows){
		.base = look->sum,
		.begin = now,
		.phase = RATE_HOLDS,
		.node = look->home->nodes[look->first].more,
		.part = (rate->until_time + 2 * (slack_of(rate) + behind)) / PARTS + 1,
	};
	trip_condition_alarm(look, windows->begin + windows->part);
}

/* Less came within the time, all of which is behind the firing, and known. */
static bool
is_over(const struct trip_condition_look *look, const struct windows *windows)
{
	const struct rate *rate = look->memory;
	uint64_t time = rate->until_time + slack_of(rate), cut;

	/* Together they may be more than there is. */
	if (look->known < windows->begin || look->known - windows->begin < time)
		return false;
	cut = RTE_MIN(cut_at(windows, look->known - time), windows->cut);
	return look->sum - sum_at(look, windows, cut) < rate->until_count;
}

/* Whether it is over. Nobody need ring for additions meanwhile. */
static bool
look_at_hold(struct trip_condition_look *look, struct windows *windows)
{
	const struct rate *rate = look->memory;
	uint64_t last = sum_at(look, windows, windows->cut), now = trip_condition_now(look);
	uint64_t cut = cut_at(windows, now);

	trip_condition_lift(look);
	look->stands = false;
	if (look->set || look->sum < last ||
		(look->behind && now - look->known > PARTS * windows->part - rate->until_time)) {
		hold(look, windows);
		return false;
	}
	if (is_over(look, windows))
		return true;
	if (cut > windows->cut) {
		bool late = now > windows->begin + cut * windows->part + slack_of(rate);

		keep_as_far(look, windows, cut - 1, last);
		keep_as_far(look, windows, cut, late ? last : look->sum);
	}
	trip_condition_alarm(look, windows->begin + (windows->cut + 1) * windows->part);
	return false;
}

/* ---- looks ---- */

/* What comes while it sleeps may be looked at too late. A sleep takes longer than it was told to,
 * by as much as is allowed for here. */
static bool
oversleeps(const struct trip_condition_look *look, const struct windows *windows)
{
	const struct trip_home *home = look->home;
	const struct rate *rate = look->memory;

	return 2 * trip_engine_ns(home->engine, home->idle_tsc) > rate->time / 64 - windows->part;
}

static enum trip_condition_state
look_at_windows(struct trip_condition_look *look, struct windows *windows)
{
	const struct rate *rate = look->memory;
	uint64_t last = sum_at(look, windows, windows->cut), from = 0;

	if (windows->phase == RATE_RESTS)
		keep_until(look, windows, look->since, last);
	if (windows->phase == RATE_BEGINS) {
		windows->base = look->sum;
		if (look->known >= windows->begin)
			windows->phase = RATE_COUNTS;
	}
	keep_until(look, windows, look->known, look->sum);
	/* Where it stands is no higher than what fires it now, and not reached. */
	if (look->behind || !look->stands) {
		from = oldest(look, windows);
		if (from != TRIP_PENDING_NONE && look->sum - from >= rate->count) {
			(has_until(rate) ? hold : begin)(look, windows);
			return TRIP_CONDITION_HOLDS;
		}
	}
	if (look->sum != last || look->behind || look->alarmed || oversleeps(look, windows) ||
		look->sum == SUM_MAX) {
		count_on(look, windows, from);
	} else {
		windows->phase = RATE_RESTS;
		trip_condition_stand(look, look->sum + 1);
	}
	return TRIP_CONDITION_WAITS;
}

/* Before anything of it came: what another has begun goes on. */
static bool
has_begun(const struct trip_condition_look *look)
{
	return (look->home->nodes[look->item].flags & TRIP_WORK_BEGUN) != 0 &&
	       has_until(look->memory);
}

static enum trip_condition_state
look_rate(struct trip_condition_look *look)
{
	struct windows *windows = (void *)look->home->nodes[look->first].operands;
	bool before = windows->phase == RATE_BEFORE;

	if (before && has_begun(look)) {
		hold(look, windows);
		return TRIP_CONDITION_HOLDS;
	}
	/* It comes to that later, though it may have been there when the item was queued. */
	if (before && look->stands && look->sum < look->home->nodes[look->item].threshold) {
		windows->begin = TRIP_CONDITION_LATER;
		return TRIP_CONDITION_WAITS;
	}
	if (windows->phase == RATE_HOLDS) {
		if (!look_at_hold(look, windows))
			return TRIP_CONDITION_WAITS;
		begin(look, windows);
		(void)look_at_windows(look, windows);
		return TRIP_CONDITION_ENDS;
	} else if (before) {
		begin_queued(look, windows);
	} else if (look->set || look->sum < sum_at(look, windows, windows->cut)) {
		begin(look, windows);
		if (look->set && look->set_to < look->sum) {
			windows->base = look->set_to;
			windows->begin = look->since;
		}
		if (look->stands)
			trip_condition_lift(look);
		look->stands = false;
	}
	return look_at_windows(look, windows);
}

/* The counter advances, and the next cut has come: mostly nothing else has happened. */
static uint64_t
glance_at_rate(const struct trip_glance *glance)
{
	struct windows *windows = (void *)glance->home->nodes[glance->first].operands;
	uint64_t next = windows->begin + (windows->cut + 1) * windows->part;

	if (windows->phase != RATE_COUNTS || !windows->stands || glance->sum <= windows->last ||
		glance->known - next >= windows->part)
		return 0;
	keep(glance->home, glance->first, windows, glance->sum);
	windows->last = glance->sum;
	return round_up(windows, next + windows->part);
}

const struct trip_condition_row trip_condition_rate = {
	.name = "rate",
	.parameters = sizeof(struct rate),
	.memory = 1 + NODES,
	.takes = takes,
	.ends = has_until,
	.tell = tell,
	.interval_max = 1,
	.look = look_rate,
	.glance = glance_at_rate,
};
