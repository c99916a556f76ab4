/* SPDX-License-Identifier: BSD-3-Clause */
/* Histories that are kept: copied, and in files, as numbers in text. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Not by fopen(), which is a process's where these are simulated. Of anything but a file, a pipe
 * say, whoever opens or reads it might wait for ever. */
static FILE *
open_file(const char *path, bool writes)
{
	int fd = openat(AT_FDCWD, path,
		(writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY) | O_NONBLOCK | O_CLOEXEC, 0666);
	struct stat stat;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
		return fdopen(fd, writes ? "w" : "r");
	close(fd);
	errno = EINVAL;
	return NULL;
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

/* Digits, and then room: what is cut off or does not fit would be another history. */
static bool
read_number(FILE *file, uint64_t most, uint64_t *number)
{
	char text[24];
	int next;

	if (fscanf(file, " %23[0-9]", text) != 1)
		return false;
	errno = 0;
	*number = strtoull(text, NULL, 10);
	next = getc(file);
	return errno == 0 && *number <= most && (next == EOF || isspace(next));
}

static bool
read_small(FILE *file, uint32_t most, uint32_t *number)
{
	uint64_t read;

	if (!read_number(file, most, &read))
		return false;
	*number = (uint32_t)read;
	return true;
}

static bool
read_head(FILE *file, struct sim_history *history, unsigned int *draws)
{
	char world[32];
	uint32_t memory;

	if (fscanf(file, "history of %31s", world) != 1 ||
		strcmp(world, history->world->name) != 0 ||
		!read_small(file, SIM_MEMORIES - 1, &memory) ||
		!read_number(file, UINT64_MAX, &history->seed) ||
		!read_small(file, SIM_DRAWS, draws))
		return false;
	history->memory = (enum sim_memory)memory;
	return read_small(file, SIM_STEPS, &history->n_decisions);
}

static bool
read_decision(FILE *file, struct sim_decision *decision)
{
	uint32_t actor, kind;

	if (!read_small(file, SIM_ACTORS - 1, &actor) ||
		!read_small(file, UINT32_MAX, &decision->op) ||
		!read_small(file, UINT32_MAX, &decision->step) ||
		!read_small(file, SIM_WAKE, &kind) || !read_small(file, UINT32_MAX, &decision->arg))
		return false;
	decision->actor = (uint8_t)actor;
	decision->kind = (uint8_t)kind;
	return true;
}

/* Nothing but room is behind it. */
static bool
has_ended(FILE *file)
{
	int next;

	do
		next = getc(file);
	while (isspace(next));
	return next == EOF && !ferror(file);
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
		if (!read_number(file, UINT64_MAX, &plan->draws[i]))
			return false;
	for (unsigned int i = 0; i < history->n_decisions; i++)
		if (!read_decision(file, &history->decisions[i]))
			return false;
	return has_ended(file);
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
