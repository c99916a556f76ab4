/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An attached process that queues operations on flows of the port, ends or is killed at any step,
 * and is cleared away by the homes (drop.h), as runtime/primary/process.c has them do it; and the
 * next one in its place. Flows are the control thread's.
 */
#include <stdlib.h>
#include <string.h>

#include "nics.h"

#define LIVES 4
#define LIFE_ACTS 8
/* An event names its life and its item. */
#define CONTEXT(life, i) ((uint64_t)(life) << 8 | (i))

struct client_act {
	uint32_t flow, completion, pauses, n;
	uint64_t threshold;
	uint8_t op;
	bool told, rests;
};

struct client_item {
	uint32_t home, completion;
	/* It has begun to submit it; it has. */
	bool begun, submitted;
	uint32_t flow;
	uint64_t threshold, id;
};

static struct client {
	struct client_act acts[LIVES][LIFE_ACTS];
	unsigned int n_acts[LIVES], n_lives, life;
	/* Of the life that is under way. */
	struct trip_engine engine;
	struct trip_home *homes[HOMES];
	struct client_item items[CLIENT_SLOTS];
	unsigned int n_items, actor;
	/* Nobody comes any more. */
	bool is_over;
} client;

/* --- the process --- */

static void
attach(void)
{
	/* Killed in there it would leave memory that nobody knows of. */
	bool looks = sim_look(true);

	client.n_items = 0;
	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		client.homes[h] = trip_home_map(nics.memory[h], &client.engine, h, &nics.shape, 0);
		if (client.homes[h] == NULL)
			abort();
	}
	(void)sim_look(looks);
}

static void
queue(const struct client_act *act)
{
	struct client_item *item = &client.items[client.n_items];
	uint32_t cntr = nics_cntr(act->flow);
	struct trip_home *home = client.homes[cntr / CNTRS];
	struct trip_channel_client *channel = &home->clients[0];
	int slot;

	/* Work on a flow that is none is refused; one that work refers to is not destroyed. */
	if (client.n_items == CLIENT_SLOTS || !nics.created[act->flow] || nics.destroys[act->flow])
		return;
	*item = (struct client_item){.home = home->index,
		.completion = act->completion,
		.begun = true,
		.flow = act->flow,
		.threshold = nics_reached(cntr) + act->threshold};
	nics.fates[act->flow].meddled = nics.fates[act->flow].creation;
	slot = trip_channel_alloc(channel, trip_channel_returned(channel));
	sim_expect(slot >= 0, "a client has queued %u items, and has no slot", client.n_items);
	*trip_channel_desc(channel, (uint32_t)slot) =
		(struct trip_work_desc){.threshold = item->threshold,
			.context = CONTEXT(client.life, client.n_items++),
			.trigger = cntr,
			.target = act->flow,
			.completion = act->completion * CNTRS + OWN,
			.op = act->op,
			.flags = act->told ? TRIP_WORK_COMPLETION : 0};
	sim_expect(trip_channel_submit(channel, (uint32_t)slot, &item->id) == 0,
		"the channel of a client is garbage");
	item->submitted = true;
	trip_doorbell_ring(
		&home->doorbell, TRIP_BELL_CHANNEL, trip_home_client_channel(&nics.shape, 0));
	sim_progress();
}

/* None is of whoever was there before. */
static void
take_events(void)
{
	struct trip_event event;

	for (uint32_t h = 0; h < nics.engine.n_homes; h++)
		while (trip_event_ring_pop(client.homes[h]->events, &event, 1) > 0)
			sim_expect(event.context >= CONTEXT(client.life, 0) &&
					   event.context < CONTEXT(client.life, client.n_items),
				"process %u is told of item %u of process %u", client.life,
				(unsigned int)(event.context & 0xff),
				(unsigned int)(event.context >> 8));
}

static void
run_client(void *arg)
{
	attach();
	for (unsigned int i = 0; i < client.n_acts[client.life]; i++) {
		const struct client_act *act = &client.acts[client.life][i];

		for (uint32_t n = 0; n < act->n; n++) {
			sim_op("queues an operation on flow %u", act->flow);
			queue(act);
		}
		sim_op("waits for its operations");
		if (act->rests)
			sim_rest();
		for (uint32_t n = 0; n < act->pauses; n++) {
			sim_progress();
			sim_pause();
		}
		take_events();
	}
	sim_op("detaches");
}

/* --- and who clears it away --- */

static bool
all_dropped(void)
{
	for (uint32_t h = 0; h < nics.engine.n_homes; h++)
		if (!trip_drop_done(nics.engine.homes[h], 0))
			return false;
	return true;
}

/* All that it has queued was counted, once, and by now: of what it was submitting when it was
 * killed nobody knows. */
static void
judge_dropped(void)
{
	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		uint64_t counted = nics_reached(h * CNTRS + OWN);
		unsigned int least = 0, most = 0;

		for (unsigned int i = 0; i < client.n_items; i++) {
			least += client.items[i].completion == h && client.items[i].submitted;
			most += client.items[i].completion == h;
		}
		sim_expect(counted >= least && counted <= most,
			"process %u is dropped, and of %u to %u operations at home %u %llu are "
			"counted",
			client.life, least, most, h, (unsigned long long)counted);
	}
}

/* What it had is the next one's. */
static void
make_new(void)
{
	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		struct trip_home *home = nics.engine.homes[h];

		(void)trip_cell_set(&home->cells[OWN], 0);
		(void)trip_cell_seterr(&home->cells[OWN], 0);
		trip_doorbell_ring(&home->doorbell, TRIP_BELL_CNTR, OWN);
		/* It may have been killed before it had one. */
		if (client.homes[h] != NULL)
			trip_home_fini(client.homes[h]);
		client.homes[h] = NULL;
	}
	client.n_items = 0;
}

static void
run_keeper(void *arg)
{
	for (; client.life < client.n_lives; client.life++) {
		client.actor = sim_spawn("process", true, run_client, NULL);
		do {
			sim_op("looks whether process %u is there", client.life);
			sim_pause();
		} while (!sim_is_dead(client.actor) && !sim_has_ended(client.actor));
		sim_op("has homes drop what process %u has left", client.life);
		sim_join(client.actor);
		for (uint32_t h = 0; h < nics.engine.n_homes; h++)
			trip_drop_ask(nics.engine.homes[h], 0);
		sim_progress();
		while (!all_dropped())
			sim_pause();
		sim_op("finds that process %u is gone", client.life);
		judge_dropped();
		make_new();
	}
	client.is_over = true;
	sim_progress();
}

/* --- to others --- */

bool
nics_client_refers(uint32_t flow)
{
	bool is_there = !sim_is_dead(client.actor) && !sim_has_ended(client.actor);
	uint32_t channel = trip_home_client_channel(&nics.shape, 0);

	for (unsigned int i = 0; i < client.n_items; i++) {
		const struct client_item *item = &client.items[i];
		const struct trip_home *home = nics.engine.homes[item->home];

		if (item->flow == flow && (!is_there || !item->submitted ||
						  !nics_is_back(&home->clients[channel], item->id)))
			return true;
	}
	return false;
}

void
nics_client_await(void)
{
	while (!client.is_over)
		sim_pause();
}

void
nics_client_judge(void)
{
	if (client.n_lives == 0)
		return;
	sim_expect(client.is_over || (!sim_is_dead(client.actor) && !sim_has_ended(client.actor)),
		"process %u is gone, and not dropped", client.life);
	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		uint64_t counted = nics_reached(h * CNTRS + OWN);
		unsigned int due = 0;

		for (unsigned int i = 0; i < client.n_items; i++)
			due += client.items[i].completion == h &&
			       client.items[i].threshold <=
				       nics_reached(nics_cntr(client.items[i].flow));
		sim_expect(counted == due,
			"of process %u %u operations were due at home %u, and %llu are counted",
			client.life, due, h, (unsigned long long)counted);
	}
}

static void
draw_life(unsigned int life)
{
	static const uint8_t ops[] = {
		TRIP_OP_FLOW_DROP, TRIP_OP_FLOW_PASS, TRIP_OP_FLOW_PASS, TRIP_OP_FLOW_DELETE};

	for (uint64_t n = 1 + sim_draw(LIFE_ACTS); n > 0; n--) {
		struct client_act *act = &client.acts[life][client.n_acts[life]];

		act->flow = (uint32_t)sim_draw(nics.n_flows);
		act->completion = (uint32_t)sim_draw(nics.engine.n_homes);
		act->n = 1 + (uint32_t)sim_draw(4);
		act->pauses = (uint32_t)sim_draw(UINT64_C(1) << sim_draw(6));
		act->threshold = sim_draw(3) == 0 ? sim_draw(12) : 0;
		act->op = ops[sim_draw(4)];
		act->told = sim_draw(2) == 0;
		act->rests = sim_draw(4) == 0;
		client.n_acts[life] += sim_wants();
	}
}

void
nics_client_begin(void)
{
	memset(&client, 0, sizeof(client));
	client.n_lives = sim_draw(4) == 0 ? 1 + (unsigned int)sim_draw(LIVES) : 0;
	for (unsigned int i = 0; i < client.n_lives; i++)
		draw_life(i);
	client.is_over = client.n_lives == 0;
	if (client.n_lives > 0)
		(void)sim_spawn("keeper", false, run_keeper, NULL);
}

void
nics_client_forget(void)
{
	for (uint32_t h = 0; h < nics.engine.n_homes; h++)
		if (client.homes[h] != NULL)
			trip_home_fini(client.homes[h]);
}
