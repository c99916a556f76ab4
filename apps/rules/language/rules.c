/* SPDX-License-Identifier: BSD-3-Clause */
/* A parse from end to end: the text, its life and the lives of what comes of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rules_priv.h"
#include "rules_y.h"

#define BASE_SHOWN 60 /* bytes of a line of other rules */

/*
 * Makes room for one more behind `n` entries of the array that *array points to. The capacity
 * follows from n (8, then powers of two), so an array is a pointer and a count.
 */
bool
trip_rules_grow(void *array, unsigned int n, size_t size)
{
	void *entries;
	size_t room;

	if (n != 0 && (n < 8 || (n & (n - 1)) != 0))
		return true;
	memcpy(&entries, array, sizeof(entries));
	room = n == 0 ? 8 : 2 * (size_t)n;
	entries = reallocarray(entries, room, size);
	if (entries == NULL)
		return false;
	memcpy(array, &entries, sizeof(entries));
	return true;
}

static void
free_count(struct trip_rules_count *count)
{
	free(count->patterns);
	free(count->source);
	trip_rules_free_ports(count);
}

void
trip_rules_free(struct trip_rules *rules)
{
	if (rules == NULL)
		return;
	for (unsigned int i = 0; i < rules->n_counts; i++)
		free_count(&rules->counts[i]);
	for (unsigned int i = 0; i < rules->n_whens; i++) {
		free(rules->whens[i].source);
		free(rules->whens[i].condition_text);
		trip_rules_pairs_free(rules->whens[i].pairs);
		free(rules->whens[i].lasts_text);
		free(rules->whens[i].rate_text);
		free(rules->whens[i].text);
	}
	free(rules->counts);
	for (unsigned int i = 0; i < rules->n_counters; i++) {
		if (rules->counters[i].quota != NULL)
			free(rules->counters[i].quota->counts);
		free(rules->counters[i].quota);
		free(rules->counters[i].source);
	}
	free(rules->counters);
	free(rules->whens);
	for (unsigned int i = 0; i < rules->n_sets; i++)
		trip_rules_set_free(&rules->sets[i]);
	free(rules->sets);
	for (unsigned int i = 0; i < rules->n_eaches; i++)
		free_count(&rules->eaches[i].count);
	free(rules->eaches);
	for (unsigned int i = 0; i < rules->n_notes; i++)
		free(rules->notes[i].message);
	free(rules->notes);
	trip_rules_errors_free(rules->warnings);
	free(rules);
}

/* Errors own a copy of the text: what they quote must outlive the caller's buffer. */
struct trip_rules_errors *
trip_rules_errors_new(
	const char *name, const char *text, size_t length, const char *base, size_t base_length)
{
	struct trip_rules_errors *errors = calloc(1, sizeof(*errors));
	/* Where the last line of the text has no end, or goes on behind it, it ends here. */
	size_t gap = base_length > 0 ? 2 : 0;

	if (errors == NULL)
		return NULL;
	errors->name = strdup(name);
	errors->text = malloc(length + gap + base_length + 1);
	if (errors->name == NULL || errors->text == NULL) {
		trip_rules_errors_free(errors);
		return NULL;
	}
	if (length > 0)
		memcpy(errors->text, text, length);
	memset(errors->text + length, '\n', gap);
	if (base_length > 0)
		memcpy(errors->text + length + gap, base, base_length);
	errors->length = length + gap + base_length;
	errors->text[errors->length] = '\0';
	return errors;
}

static int
run(struct trip_rules_ctx *ctx)
{
	if (trip_rules_yyparse(ctx) != 0)
		ctx->nomem = true;
	trip_rules_build_abandon(ctx);
	if (!ctx->nomem)
		trip_rules_check_names(ctx);
	free(ctx->when_names);
	free(ctx->pair_names);
	free(ctx->symbols);
	free(ctx->quota_refs);
	free(ctx->set_names);
	free(ctx->ranges);
	if (ctx->nomem)
		return -ENOMEM;
	return ctx->errors->n_list > 0 ? -EINVAL : 0;
}

/* In the other rules there is no mistake of their own: what shows there is said of all. */
static int
rebase(struct trip_rules_errors *errors, size_t base)
{
	for (unsigned int i = 0; base < errors->length && i < errors->n_list; i++) {
		struct trip_rules_error *error = &errors->list[i];
		const char *at = errors->text + error->offset, *line = at;
		char *message;

		if (error->offset < base)
			continue;
		while (line > errors->text + base && line[-1] != '\n')
			line--;
		if (asprintf(&message, "with what is at work, '%.*s': %s",
			    (int)RTE_MIN(strcspn(line, "\n"), (size_t)BASE_SHOWN), line,
			    error->message) < 0)
			return -ENOMEM;
		free(error->message);
		error->message = message;
		error->line = error->column = 0;
	}
	return 0;
}

int
trip_rules_parse_text(const char *name, const char *text, size_t length, struct trip_rules **rules,
	struct trip_rules_errors **errors)
{
	return trip_rules_parse_onto(name, text, length, "", 0, rules, errors);
}

int
trip_rules_parse_onto(const char *name, const char *text, size_t length, const char *base,
	size_t base_length, struct trip_rules **rules, struct trip_rules_errors **errors)
{
	struct trip_rules_ctx *ctx = calloc(1, sizeof(*ctx));
	int rc = -ENOMEM;

	*rules = NULL;
	*errors = NULL;
	if (ctx == NULL)
		return -ENOMEM;
	ctx->rules = calloc(1, sizeof(*ctx->rules));
	ctx->errors = trip_rules_errors_new(name, text, length, base, base_length);
	if (ctx->rules != NULL && ctx->errors != NULL) {
		ctx->text = ctx->errors->text;
		ctx->end = ctx->text + ctx->errors->length;
		/* Behind the gap; the end, where there is no base. */
		ctx->base = ctx->end - base_length;
		trip_rules_lex_begin(ctx);
		rc = run(ctx);
	}
	if (rc == -EINVAL) {
		trip_rules_error_sort(ctx->errors);
		if (rebase(ctx->errors, (size_t)(ctx->base - ctx->text)) != 0)
			rc = -ENOMEM;
	}
	if (rc == -EINVAL) {
		*errors = ctx->errors;
		(*errors)->rules = ctx->rules;
		ctx->errors = NULL;
		ctx->rules = NULL;
	}
	if (rc == 0) {
		/* Warnings need what errors need: the text. */
		ctx->rules->warnings = ctx->errors;
		ctx->errors = NULL;
		rc = trip_rules_warn(ctx->rules);
		if (rc == 0 && base_length > 0)
			rc = rebase(
				ctx->rules->warnings, ctx->rules->warnings->length - base_length);
	}
	if (rc == 0) {
		*rules = ctx->rules;
		ctx->rules = NULL;
	}
	trip_rules_free(ctx->rules);
	trip_rules_errors_free(ctx->errors);
	free(ctx);
	return rc;
}

/* The whole of a file that may be a pipe, so its size is known only at its end. */
static int
slurp(FILE *file, char **text, size_t *length)
{
	size_t room = 1 << 16;
	char *grown;

	*length = 0;
	*text = malloc(room);
	if (*text == NULL)
		return -ENOMEM;
	for (;;) {
		errno = 0;
		*length += fread(*text + *length, 1, room - *length, file);
		if (ferror(file))
			return errno != 0 ? -errno : -EIO;
		if (feof(file))
			return *length > TRIP_RULES_FILE_MAX ? -EFBIG : 0;
		if (*length > TRIP_RULES_FILE_MAX)
			return -EFBIG;
		if (*length < room)
			continue;
		grown = realloc(*text, 2 * room);
		if (grown == NULL)
			return -ENOMEM;
		*text = grown;
		room *= 2;
	}
}

int
trip_rules_refuse_file(
	const char *path, const char *what, int rc, struct trip_rules_errors **errors)
{
	struct trip_rules_span nowhere = {0};
	char *message = NULL;
	int n;

	if (rc == -ENOMEM)
		return rc;
	*errors = trip_rules_errors_new(path, "", 0, "", 0);
	if (*errors == NULL)
		return -ENOMEM;
	nowhere.text = (*errors)->text;
	if (rc == -EFBIG)
		n = asprintf(&message, "cannot read %s: the limit is %u MiB", what,
			TRIP_RULES_FILE_MAX >> 20);
	else
		n = asprintf(&message, "cannot read %s: %s", what,
			rc == -EMEDIUMTYPE ? "it is no regular file" : strerror(-rc));
	if (trip_rules_error_append(*errors, &nowhere, n >= 0 ? message : NULL))
		return rc;
	trip_rules_errors_free(*errors);
	*errors = NULL;
	return -ENOMEM;
}

int
trip_rules_read(const char *path, bool only_regular, char **text, size_t *length)
{
	/* What is no regular file may keep whoever opens it waiting. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | (only_regular ? O_NONBLOCK : 0));
	struct stat status;
	FILE *file;
	int rc;

	*text = NULL;
	if (fd < 0)
		return -errno;
	if (only_regular && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
		close(fd);
		return -EMEDIUMTYPE;
	}
	file = fdopen(fd, "rb");
	if (file == NULL) {
		close(fd);
		return -ENOMEM;
	}
	rc = slurp(file, text, length);
	fclose(file);
	return rc;
}

int
trip_rules_parse_file(const char *path, bool only_regular, struct trip_rules **rules,
	struct trip_rules_errors **errors)
{
	size_t length = 0;
	char *text;
	int rc = trip_rules_read(path, only_regular, &text, &length);

	*rules = NULL;
	*errors = NULL;
	if (rc == 0)
		rc = trip_rules_parse_text(path, text, length, rules, errors);
	else
		rc = trip_rules_refuse_file(path, "the rules", rc, errors);
	free(text);
	return rc;
}
