/* SPDX-License-Identifier: BSD-3-Clause */
/* Histories that are kept: copied, and in files, as numbers in text. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "sim_inside.h"

struct sim_plan *
sim_corpus_plan(unsigned int n)
{
	struct sim_plan *plan = malloc(sizeof(*plan) + n * sizeof(plan->draws[0]));

	if (plan == NULL)
		abort();
	plan->n = n;
	return plan;
}

void
sim_corpus_copy(struct sim_history *to, const struct sim_history *from)
{
	struct sim_plan *plan = sim_corpus_plan(sim.n_drawn);
	size_t size = from->n_decisions * sizeof(*from->decisions);

	memcpy(plan->draws, sim.drawn, sim.n_drawn * sizeof(plan->draws[0]));
	*to = *from;
	to->plan = plan;
	to->memory = sim.memory;
	to->replays = true;
	to->drawn_from = 0;
	to->decisions = malloc(size + 1);
	to->max_decisions = from->n_decisions;
	if (to->decisions == NULL)
		abort();
	memcpy(to->decisions, from->decisions, size);
}

void
sim_corpus_free(struct sim_history *history)
{
	free((void *)(uintptr_t)history->plan);
	free(history->decisions);
	history->plan = NULL;
	history->decisions = NULL;
}

/* --- files --- */

/* Not by fopen(), which is a process's where these are simulated. */
static FILE *
open_file(const char *path, bool writes)
{
	int fd = openat(AT_FDCWD, path,
		(writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY) | O_CLOEXEC, 0666);

	return fd >= 0 ? fdopen(fd, writes ? "w" : "r") : NULL;
}

static uint64_t
mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * UINT64_C(0x100000001b3);
}

/* By what is in it: two runs may use one folder. */
static uint64_t
name_of(const struct sim_history *history)
{
	uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), history->memory);

	for (unsigned int i = 0; i < history->plan->n; i++)
		hash = mix(hash, history->plan->draws[i]);
	for (unsigned int i = 0; i < history->n_decisions; i++) {
		const struct sim_decision *decision = &history->decisions[i];

		hash = mix(hash, (uint64_t)decision->op << 32 | decision->step);
		hash = mix(hash,
			(uint64_t)decision->arg << 16 | decision->actor << 8 | decision->kind);
	}
	return hash;
}

bool
sim_corpus_write(const struct sim_history *history, const char *folder, const char *prefix)
{
	char path[4096];
	FILE *file;
	bool failed;

	snprintf(path, sizeof(path), "%s/%s-%016" PRIx64, folder, prefix, name_of(history));
	file = open_file(path, true);
	if (file == NULL)
		return false;
	fprintf(file, "history of %s\n%u %" PRIu64 " %u %u\n", history->world->name,
		(unsigned int)history->memory, history->seed, history->plan->n,
		history->n_decisions);
	for (unsigned int i = 0; i < history->plan->n; i++)
		fprintf(file, "%" PRIu64 "\n", history->plan->draws[i]);
	for (unsigned int i = 0; i < history->n_decisions; i++) {
		const struct sim_decision *decision = &history->decisions[i];

		fprintf(file, "%u %u %u %u %u\n", decision->actor, decision->op, decision->step,
			decision->kind, decision->arg);
	}
	failed = ferror(file) != 0;
	return fclose(file) == 0 && !failed;
}

static bool
read_head(FILE *file, struct sim_history *history, unsigned int *draws)
{
	unsigned int memory;
	char world[32];

	if (fscanf(file, "history of %31s %u %" SCNu64 " %u %u", world, &memory, &history->seed,
		    draws, &history->n_decisions) != 5)
		return false;
	history->memory = (enum sim_memory)memory;
	return strcmp(world, history->world->name) == 0 && memory < SIM_MEMORIES &&
	       *draws <= SIM_DRAWS && history->n_decisions <= SIM_STEPS;
}

static bool
read_decision(FILE *file, struct sim_decision *decision)
{
	unsigned int actor, kind;

	if (fscanf(file, "%u %u %u %u %u", &actor, &decision->op, &decision->step, &kind,
		    &decision->arg) != 5)
		return false;
	decision->actor = (uint8_t)actor;
	decision->kind = (uint8_t)kind;
	return actor < SIM_ACTORS && kind <= SIM_DELAY;
}

static bool
read_all(FILE *file, struct sim_history *history)
{
	struct sim_plan *plan;
	unsigned int draws;

	if (!read_head(file, history, &draws))
		return false;
	plan = sim_corpus_plan(draws);
	history->plan = plan;
	history->replays = true;
	history->max_decisions = history->n_decisions;
	history->decisions = calloc(history->n_decisions + 1, sizeof(*history->decisions));
	for (unsigned int i = 0; i < draws; i++)
		if (fscanf(file, "%" SCNu64, &plan->draws[i]) != 1)
			return false;
	for (unsigned int i = 0; i < history->n_decisions; i++)
		if (!read_decision(file, &history->decisions[i]))
			return false;
	return true;
}

bool
sim_corpus_read(struct sim_history *history, const char *path)
{
	FILE *file = open_file(path, false);
	bool done;

	if (file == NULL)
		return false;
	done = read_all(file, history);
	fclose(file);
	if (!done)
		errno = EINVAL;
	return done;
}
