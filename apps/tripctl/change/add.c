/* SPDX-License-Identifier: BSD-3-Clause */
/* tripctl add, set and reset: they attach, since who only looks on changes nothing; but for what
 * tripd resets. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trip_cntr.h>

#include "attach.h"
#include "base/options.h"
#include "base/record.h"
#include "base/text.h"
#include "base/tripctl.h"

struct change {
	struct tripctl *ctl;
	struct tripctl_words words;
	bool error;
	/* NULL: resets it, and `was` is what it was. */
	int (*call)(struct trip_cntr *cntr, uint64_t value);
	uint64_t was;
};

static const struct tripctl_option options[] = {
	{"error", NULL, "the error value, not the success value", TRIPCTL_OPTION_TEXT,
		offsetof(struct change, error)},
	{NULL},
};

static void
tell_json(const struct change *change, const struct trip_client_cntr *now)
{
	json_t *record = tripctl_record_json(TRIP_CLIENT_CNTR, NULL, now);

	if (change->call == NULL)
		tripctl_record_put_number(record, "was", change->was);
	tripctl_record_write(record);
}

static void
tell_json_name(const struct change *change, const char *name)
{
	json_t *record = json_object();

	(void)json_object_set_new(record, "name", json_string(name));
	tripctl_record_put_number(record, "was", change->was);
	tripctl_record_write(record);
}

/* What it is now, as far as it is still there; of one that was reset, what it was. */
static int
tell(const struct change *change, uint64_t id)
{
	struct trip_client_cntr now = {.size = sizeof(now)};
	int error = trip_client_read(change->ctl->client, id, &now);

	if (error != 0)
		return tripctl_fail(error);
	if (change->ctl->json)
		tell_json(change, &now);
	else
		printf("%s %" PRIu64 "\n", now.name,
			change->call == NULL ? change->was
			: change->error      ? now.error
					     : now.success);
	return 0;
}

static int
apply(struct change *change, struct trip_domain *domain)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .name = change->words.name};
	struct trip_cntr *cntr;
	int error = trip_cntr_find(domain, &attr, &cntr, NULL);

	if (error != 0)
		return tripctl_attach_fail(error);
	error = change->call != NULL ? change->call(cntr, change->words.value)
				     : trip_cntr_reset(cntr, &change->was);
	if (error != 0)
		error = tripctl_attach_fail(error);
	(void)trip_cntr_close(cntr);
	return error;
}

/* What tripd says of one that it has reset: its name, and what it was. */
static void
tell_answer(const struct change *change, char *answer)
{
	char escaped[256], *rest = NULL;

	for (char *line = strtok_r(answer, "\n", &rest); line != NULL;
		line = strtok_r(NULL, "\n", &rest)) {
		struct trip_client_cntr now = {.size = sizeof(now)};
		struct change one = *change;
		char *blank = strrchr(line, ' ');

		if (!change->ctl->json || blank == NULL) {
			printf("%s\n", tripctl_text_escape(line, escaped, sizeof(escaped)));
			continue;
		}
		*blank = 0;
		one.was = strtoull(blank + 1, NULL, 10);
		/* Keys are no counter. */
		if (trip_client_find(change->ctl->client, line, &now) == 0)
			tell_json(&one, &now);
		else
			tell_json_name(&one, line);
	}
}

/* tripd begins a quota's period, or both values of a count, by their names. Returns whether it knew
 * the name, and took commands. */
static bool
ask_tripd(const struct change *change, int *code)
{
	char text[TRIPCTL_NAMES_MAX + 16], escaped[256], *answer = NULL;
	int status, error;
	size_t length;

	if ((size_t)snprintf(text, sizeof(text), "reset %s", change->words.name) >= sizeof(text) ||
		strchr(text, '\n') != NULL)
		return false;
	error = trip_client_command(
		change->ctl->client, text, strlen(text), &status, &answer, &length);
	if (error == -ENOTSUP || (error == 0 && status == -ENOENT)) {
		free(answer);
		return false;
	}
	*code = error != 0 ? tripctl_fail(error) : status != 0 ? TRIPCTL_EXIT_USAGE : 0;
	if (*code == 0)
		tell_answer(change, answer);
	else if (answer != NULL)
		fprintf(stderr, "%s\n", tripctl_text_escape(answer, escaped, sizeof(escaped)));
	free(answer);
	return true;
}

static int
run(struct change *change)
{
	struct trip_client_cntr before = {.size = sizeof(before)};
	struct trip_domain *domain;
	int error, code = tripctl_connect(change->ctl, UINT64_MAX);

	if (code != 0 || (change->call == NULL && ask_tripd(change, &code)))
		return code;
	/* What is not there is said before EAL is started for it. */
	error = trip_client_find(change->ctl->client, change->words.name, &before);
	if (error != 0)
		return tripctl_fail(error);
	code = tripctl_attach(change->ctl, &domain);
	if (code != 0)
		return code;
	code = apply(change, domain);
	if (code == 0)
		code = tell(change, before.id);
	tripctl_attach_end(domain);
	return code;
}

/* Parses the words, and calls what is for the value, or with --error for the error value. */
static int
parse_and_run(struct tripctl *ctl, int argc, char **argv, const char *doc,
	int (*call)(struct trip_cntr *cntr, uint64_t value),
	int (*call_error)(struct trip_cntr *cntr, uint64_t value))
{
	const struct tripctl_line line = {
		.options = options,
		.args_doc = "NAME VALUE",
		.doc = doc,
		.words = offsetof(struct change, words),
	};
	struct change change = {.ctl = ctl};

	tripctl_options_parse(ctl, &line, argc, argv, &change);
	change.call = change.error ? call_error : call;
	return run(&change);
}

#define EXIT_CODES                                                                                 \
	"\vExit code: 0; 1: it could not attach; 3: there is no such counter; 5: the primary has " \
	"ended; 7: it does not answer."

int
tripctl_add(struct tripctl *ctl, int argc, char **argv)
{
	return parse_and_run(ctl, argc, argv,
		"Adds to a counter, which saturates at 2^63-1, and writes what it is "
		"then." EXIT_CODES,
		trip_cntr_add, trip_cntr_adderr);
}

int
tripctl_set(struct tripctl *ctl, int argc, char **argv)
{
	return parse_and_run(ctl, argc, argv,
		"Sets a counter, and writes what it is then. What has fired stays "
		"fired." EXIT_CODES,
		trip_cntr_set, trip_cntr_seterr);
}

static void
take_name(struct argp_state *state, void *into, char *word)
{
	struct change *change = into;

	if (change->words.name != NULL)
		argp_error(state, "it takes one name");
	change->words.name = word;
}

static void
check_name(struct argp_state *state, void *into)
{
	const struct change *change = into;

	if (change->words.name == NULL)
		argp_error(state, "a counter's name is wanted, as in: %s dns.packets", state->name);
}

int
tripctl_reset(struct tripctl *ctl, int argc, char **argv)
{
	static const struct tripctl_line line = {
		.args_doc = "NAME",
		.doc = "Begins a counter anew at 0, or both of a count of tripd, or all keys of an "
		       "`each', and writes what it was: of the others, nothing that is counted "
		       "meanwhile is lost. Of what tripd has by its rules, its statements "
		       "are armed again, and what they have dropped passes; of a quota the next "
		       "period begins." EXIT_CODES,
		.word = take_name,
		.end = check_name,
	};
	struct change change = {.ctl = ctl};

	tripctl_options_parse(ctl, &line, argc, argv, &change);
	return run(&change);
}
