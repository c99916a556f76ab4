/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements of the rules language on a command line, beside the counters of a domain. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tripctl.h"
#include "statement.h"

/* The text to parse: the statements, then a definition of each name in them that the domain has. */
struct text {
	FILE *file;
	char *bytes;
	size_t length;
	const struct tripctl_names *names;
	/* What is defined already, each ended by a newline, the first begun by one. */
	char *defined;
};

static const char *
tail_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot != NULL && (strcmp(dot, ".packets") == 0 || strcmp(dot, ".bytes") == 0) ? dot
											   : NULL;
}

static bool
is_of_domain(const struct tripctl_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->cntrs[i].name, name) == 0)
			return true;
	return false;
}

static bool
is_defined(const struct text *text, const char *name)
{
	char line[TRIP_RULES_NAME_MAX + 16];

	snprintf(line, sizeof(line), "\n%.40s\n", name);
	return text->defined != NULL && strstr(text->defined, line) != NULL;
}

static int
note_defined(struct text *text, const char *name)
{
	char *grown;

	if (asprintf(&grown, "%s%s\n", text->defined != NULL ? text->defined : "\n", name) < 0)
		return -ENOMEM;
	free(text->defined);
	text->defined = grown;
	return 0;
}

/* What is in front of ".packets" or ".bytes" in the name of a counter. */
static bool
is_count_of_domain(const struct tripctl_names *names, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < names->n; i++) {
		const char *tail = tail_of(names->cntrs[i].name);

		if (tail == names->cntrs[i].name + length &&
			memcmp(names->cntrs[i].name, name, length) == 0)
			return true;
	}
	return false;
}

/* Keys trip where their packets are counted, which is in tripd. */
static int
check_no_keys(const struct text *text, const char *word)
{
	const char *tail = tail_of(word);
	size_t length = tail != NULL ? (size_t)(tail - word) : strlen(word);

	for (size_t i = 0; i < text->names->n_eaches; i++) {
		const char *name = text->names->eaches[i].name;

		if (strlen(name) == length && memcmp(name, word, length) == 0 &&
			!is_defined(text, name))
			return tripctl_complain(TRIPCTL_EXIT_USAGE,
				"\"%s\" is an `each', whose keys trip in tripd: such a `when' "
				"comes by tripctl apply FILE",
				name);
	}
	return 0;
}

/* A word that may be a name: where only the domain knows it, it gets a definition. So does behind
 * `when` the name of a count: a mistake, and the language says which. */
static int
define(struct text *text, const char *word, bool behind_when)
{
	const char *tail = tail_of(word);
	char name[TRIP_RULES_NAME_MAX + 1];
	size_t length = tail != NULL ? (size_t)(tail - word) : strlen(word);

	/* No name at all; and of these two the language makes none. */
	if (length == 0 || length >= sizeof(name) ||
		(!is_of_domain(text->names, word) &&
			!(behind_when && is_count_of_domain(text->names, word))) ||
		strcmp(word, "port") == 0 || strcmp(word, "each") == 0)
		return 0;
	memcpy(name, word, length);
	name[length] = 0;
	if (is_defined(text, name))
		return 0;
	if (tail != NULL || !is_of_domain(text->names, word))
		fprintf(text->file, "count %s port 0 pattern eth / end\n", name);
	else
		fprintf(text->file, "counter %s\n", name);
	return note_defined(text, name);
}

/* Each word of the command line may hold several of the language. Returns 0, -ENOMEM, or an exit
 * code of what has been said. */
static int
define_all(struct text *text, char *const *words, unsigned int n)
{
	bool behind_when = false;
	int error = 0;

	for (unsigned int i = 0; i < n && error == 0; i++) {
		char *copy = strdup(words[i]), *rest = copy;

		if (copy == NULL)
			return -ENOMEM;
		for (char *word; error == 0 && (word = strsep(&rest, " \t\n(),<>=")) != NULL;) {
			error = behind_when ? check_no_keys(text, word) : 0;
			if (error == 0)
				error = define(text, word, behind_when);
			behind_when = strcmp(word, "when") == 0;
		}
		free(copy);
	}
	return error;
}

/* The names behind "count" and "counter", whose statement is our own. */
static int
note_own(struct text *text, char *const *words, unsigned int n)
{
	int error = 0;

	for (unsigned int i = 0; i + 1 < n && error == 0; i++)
		if ((strcmp(words[i], "count") == 0 || strcmp(words[i], "counter") == 0) &&
			(i == 0 || strcmp(words[i - 1], ";") == 0 ||
				strcmp(words[i - 1], "also") == 0))
			error = note_defined(text, words[i + 1]);
	return error;
}

/* The shell has taken the quotes of what is to be logged. */
static void
write_string(struct text *text, const char *word)
{
	fputc('"', text->file);
	for (; *word != 0; word++) {
		if (*word == '"' || *word == '\\')
			fputc('\\', text->file);
		fputc(*word, text->file);
	}
	fputc('"', text->file);
}

static bool
is_string(char *const *words, unsigned int i, unsigned int n)
{
	if (i == 0 || strcmp(words[i - 1], "log") != 0)
		return false;
	if (strcmp(words[i], "at") == 0 && i + 1 < n && strcmp(words[i + 1], "most") == 0)
		return false;
	return strcmp(words[i], ">=") != 0 && words[i][0] != '"';
}

static unsigned int
write_words(struct text *text, char *const *words, unsigned int n)
{
	unsigned int lines = 1;

	for (unsigned int i = 0; i < n; i++) {
		if (strcmp(words[i], ";") == 0) {
			fputc('\n', text->file);
			lines++;
			continue;
		}
		if (i > 0 && strcmp(words[i - 1], ";") != 0)
			fputc(' ', text->file);
		if (is_string(words, i, n))
			write_string(text, words[i]);
		else
			fputs(words[i], text->file);
	}
	fputc('\n', text->file);
	return lines;
}

/* A statement has one line, and what it says does not end early. */
static int
check_words(char *const *words, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const char *ends = is_string(words, i, n) || strchr(words[i], '"') != NULL
					   ? "\n\r"
					   : "\n\r#\\";

		if (strpbrk(words[i], ends) == NULL)
			continue;
		return tripctl_complain(TRIPCTL_EXIT_USAGE,
			"\"%s\": a statement has one line, and no comment", words[i]);
	}
	return 0;
}

static int
parse(struct tripctl_statement *statement, const char *bytes, size_t length)
{
	struct trip_rules_errors *errors = NULL;
	int error = trip_rules_parse_text("statement", bytes, length, &statement->rules, &errors);

	if (error == 0)
		return 0;
	trip_rules_errors_print(errors, stderr);
	trip_rules_errors_free(errors);
	return error == -EINVAL ? TRIPCTL_EXIT_USAGE : TRIPCTL_EXIT_RUN;
}

int
tripctl_statement_parse(struct tripctl_statement *statement, const struct tripctl_names *names,
	char *const *words, unsigned int n)
{
	struct text text = {.names = names};
	int error;

	error = check_words(words, n);
	if (error != 0)
		return error;
	text.file = open_memstream(&text.bytes, &text.length);
	if (text.file == NULL)
		return tripctl_fail(-ENOMEM);
	statement->lines = write_words(&text, words, n);
	error = note_own(&text, words, n);
	if (error == 0)
		error = define_all(&text, words, n);
	if (fclose(text.file) != 0 || error < 0)
		error = tripctl_complain(TRIPCTL_EXIT_RUN, "no memory for a statement");
	if (error == 0)
		error = parse(statement, text.bytes, text.length);
	free(text.bytes);
	free(text.defined);
	return error;
}

void
tripctl_statement_free(struct tripctl_statement *statement)
{
	if (statement->rules != NULL)
		trip_rules_free(statement->rules);
	statement->rules = NULL;
}
