/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world: a port whose NIC counts flows (nic.h), its worker, the homes of the counters that the
 * flows feed, packets, and a control thread that creates and destroys flows, stops the port, and
 * queues work on the flows; and an attached process, which does, too. nics.c makes it;
 * nics_control.c, nics_openings.c, nics_port.c and nics_client.c do; nics_judge.c judges.
 */
#ifndef SIM_NICS_H
#define SIM_NICS_H

#include "hard.h"
#include "home.h"
#include "nic.h"
#include "sim.h"

#define HOMES 2
/* Of a home: flows feed the first, by kind; completions are counted in the next, and those of an
 * attached process in the last. */
#define CNTRS (TRIP_COUNT_KINDS + 2)
#define DONE TRIP_COUNT_KINDS
#define OWN (TRIP_COUNT_KINDS + 1)
#define SLOTS 24
/* Of a process. */
#define CLIENT_SLOTS 32
#define ITEMS 512
#define ACTS 64
#define EVENTS 4
/* A time that does not come. */
#define NICS_NEVER (UINT64_MAX / 4)

enum act_kind {
	ACT_CREATE,
	ACT_DESTROY,
	ACT_QUERY,
	ACT_QUEUE,
	ACT_REST,
	ACT_KINDS,
};

struct act {
	enum act_kind kind;
	uint32_t flow, home, n, number;
	uint64_t threshold;
	/* A drop lasts for so long; 0: for ever. */
	uint64_t time;
	uint8_t op;
	bool flag;
};

enum nics_event_kind {
	EVENT_RESTART,
	EVENT_STOP_UNTOLD,
	EVENT_RECOVERY,
	EVENT_RECOVERY_FAILED,
	EVENT_RESET,
	EVENT_REMOVAL,
};

/* Of the port. */
struct nics_event {
	enum nics_event_kind kind;
	/* When everything rests, or after so many pauses; and how many of them it takes. */
	bool rests;
	uint32_t number, pauses, between;
	/* By the driver: it answers nothing, and then tells why; how often it begins to recover,
	 * and whether it has, before the last time. */
	bool dies;
	uint32_t times;
	bool succeeds;
	/* Of a restart: it recovers after the word of the stop, or before the word of the start; or
	 * during the former, where it is hushed and succeeds. Of a reset: there is no word of the
	 * stop. */
	bool before_stop, after_start, hushed;
};

/* Work on a flow, when its counter has that. */
struct item {
	uint64_t id, threshold;
	/* Which of those that had its index. */
	uint32_t flow, creation, home;
	/* The home whose counter of completions it has, and which of those. */
	uint32_t completion, opening;
	bool told, canceled;
	unsigned int events;
	/* It drops for so long, 0: for ever; whether there is an end to tell of, and that was not
	 * told; behind how many passes it began. */
	uint64_t time;
	bool has_end, lasts;
	uint32_t began;
	/* It has ended when its home has looked behind this moment. */
	uint64_t late;
	/* Nothing more will be told of it. */
	bool over;
};

struct nics {
	struct trip_engine engine;
	struct trip_home_shape shape;
	void *memory[HOMES];
	struct trip_function_slot function;
	struct trip_flow_slot slots[NIC_FLOWS];
	struct trip_flow_feed feeds[NIC_FLOWS];
	struct trip_flow_read *reads;
	struct trip_count_folded folded[NIC_FLOWS];
	_Atomic uint8_t actions[NIC_FLOWS];
	_Atomic uint64_t changed;
	struct trip_hard *hard;
	struct trip_hard_flow flows[NIC_FLOWS];
	bool created[NIC_FLOWS], destroys[NIC_FLOWS];
	/* How often; of those before: how many were lost, and what was read of them; what told
	 * operations have made of it. */
	struct nics_fate {
		uint32_t creation;
		/* The one of which a deletion has failed: it may have ended all the same; and
		 * on which others queue work as well. */
		uint32_t refused, meddled;
		uint64_t lost, before;
		/* For ever; and how often it was told to pass, which ends all drops. */
		bool drops, deleted;
		uint32_t passes;
	} fates[NIC_FLOWS];
	struct nic_shape nic;
	/* Of NIC_FLOWS. */
	uint32_t n_flows;
	/* That a home may have under way, a power of two. */
	uint32_t errands;
	uint64_t period;
	/* How often homes look at what their counters are fed; somebody reads these so often. All
	 * work is told of. */
	uint64_t refresh;
	uint32_t readings;
	bool tells_all;
	/* Flows are destroyed when packets of theirs have come, and their counts are late. */
	bool comes_late;
	/* The port is stopped again and again. */
	bool stops;
	struct act acts[ACTS];
	unsigned int n_acts;
	uint32_t bursts[NIC_FLOWS];
	struct nics_event events[EVENTS + 1];
	unsigned int n_events;
	bool in_event;
	/* A stop is under way that nobody tells of; a flow is being created. */
	bool untold, creates;
	/* Of each home's counter of completions: how often it was closed and another was opened in
	 * its place; and that it is closed. */
	uint32_t openings[HOMES];
	bool is_closed[HOMES];
	/* The control thread destroys all flows in the end, and closes the port; it has. */
	bool ends, closes, closed;
	struct item items[ITEMS];
	unsigned int n_items;
};

extern struct nics nics;

/* The counter that a flow feeds, of the domain: with bytes one of another home, if there is. */
static inline uint32_t
nics_fed(uint32_t flow, unsigned int kind)
{
	return (flow + kind) % nics.engine.n_homes * CNTRS + kind;
}

/* In ticks: counters have been read some times then, after their cache was refreshed. */
static inline uint32_t
nics_patience(void)
{
	return (uint32_t)(8 * nics.period + 4 * nics.nic.lag);
}

/* By which its work goes. */
static inline uint32_t
nics_cntr(uint32_t flow)
{
	return nics_fed(flow, TRIP_COUNT_KIND_PACKETS);
}

void nics_plan(void);
void nics_control(void *arg);
/* The port's events. */
void nics_port(void *arg);
void nics_draw_event(struct nics_event *event);
/* Has the worker run it; and for as long as it puts it off. */
int nics_try(int (*run)(struct trip_hard *hard, struct trip_hard_call *call),
	struct trip_hard_flow *flow);
int nics_call(int (*run)(struct trip_hard *hard, struct trip_hard_call *call),
	struct trip_hard_flow *flow);
/* What a counter has come to, with what was read of flows, and nobody was told of. */
uint64_t nics_reached(uint32_t cntr);
/* It has ended, and is told of by an error. */
bool nics_is_lost(uint32_t flow);
/* Whether the slot of an item has come back: then it refers to nothing any more. */
bool nics_is_back(const struct trip_channel_client *channel, uint64_t id);
/* Some drops last for a time, and end. */
void nics_lasting_begin(void);
/* Counters of completions are closed, and others opened in their place: indices.h. */
void nics_openings_begin(void);
void nics_reopen(uint32_t home);
/* The port is about to be closed. */
void nics_openings_end(void);
void nics_openings_forget(void);
/* An attached process, and whoever clears it away. */
void nics_client_begin(void);
/* Work of it may still be under way on a flow. */
bool nics_client_refers(uint32_t flow);
/* Until no process is there, and none comes. */
void nics_client_await(void);
void nics_client_judge(void);
void nics_client_forget(void);
void nics_judge(void);
/* Where everything rests. */
void nics_judge_items(void);
void nics_judge_fates(void);
/* A home is between two iterations: no flow is said to be fresher than it is, and none of its
 * counters; and where one tells of the end of a flow, it has all of that. */
void nics_judge_home(uint32_t home);
/* As whoever asks how old a counter of the flow is, whether there was an error, and then for it. */
void nics_read(uint32_t flow);

#endif
