/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tripctl drop, pass, release, delete, apply, remove, diff and reload: commands to tripd, over the
 * domain's socket. They need neither hugepages nor DPDK; tripd says who may give them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/text.h"
#include "base/tripctl.h"

/* A change of a million rules takes its time. */
#define LIMIT_NS UINT64_C(60000000000)
#define WORDS_MAX 400

struct command {
	const char *word;
	/* Behind it: of a key, which that is, and for how long. */
	const char *more[3];
	unsigned int n_more, most;
	uint64_t timeout_ns;
};

static const struct tripctl_option options[] = {
	{"timeout", "TIME", "wait no longer than that for the answer; default 1m",
		TRIPCTL_OPTION_TIME, offsetof(struct command, timeout_ns)},
	{NULL},
};

static void
take_word(struct argp_state *state, void *into, char *word)
{
	struct command *command = into;
	char escaped[64];

	if (command->n_more == command->most && command->word != NULL)
		argp_error(state, "unexpected word \"%s\"",
			tripctl_text_escape(word, escaped, sizeof(escaped)));
	if (strlen(word) > WORDS_MAX || strchr(word, '\n') != NULL)
		argp_error(state, "a word has up to %d characters, in one line", WORDS_MAX);
	if (command->word == NULL)
		command->word = word;
	else
		command->more[command->n_more++] = word;
}

static void
want_word(struct argp_state *state, void *into)
{
	if (((struct command *)into)->word == NULL)
		argp_error(state, "a word is missing behind %s", state->name);
}

/* The whole file behind the first line; "-" is stdin. 0, or the exit code. */
static int
read_file(const char *path, FILE *text)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
	size_t n, sum = 0;
	char part[65536];
	int code = 0;

	if (file == NULL)
		return tripctl_complain(
			TRIPCTL_EXIT_USAGE, "cannot read %s: %s", path, strerror(errno));
	while ((n = fread(part, 1, sizeof(part), file)) > 0 && sum <= TRIP_CLIENT_COMMAND_MAX) {
		fwrite(part, 1, n, text);
		sum += n;
	}
	if (ferror(file))
		code = tripctl_complain(
			TRIPCTL_EXIT_USAGE, "cannot read %s: %s", path, strerror(errno));
	if (file != stdin)
		fclose(file);
	return code;
}

/* What tripd says: names and statements of others. */
static void
write_answer(FILE *file, const char *answer, size_t length)
{
	const char *end = answer + length;

	while (answer < end) {
		const char *line = memchr(answer, '\n', (size_t)(end - answer));
		size_t n = (size_t)((line != NULL ? line : end) - answer);
		char *one = strndup(answer, n), *escaped = malloc(4 * n + 1);

		if (one != NULL && escaped != NULL)
			fprintf(file, "%s\n", tripctl_text_escape(one, escaped, 4 * n + 1));
		free(one);
		free(escaped);
		answer += n + 1;
	}
}

static int
give(struct tripctl *ctl, const struct command *command, const char *text, size_t length)
{
	uint64_t timeout = command->timeout_ns != 0 ? command->timeout_ns : LIMIT_NS;
	size_t answer_length = 0;
	int error, status = 0, code = tripctl_connect(ctl, timeout);
	char *answer;

	if (code != 0)
		return code;
	trip_client_limit(
		ctl->client, timeout / 1000000 < INT_MAX ? (int)(timeout / 1000000) : INT_MAX);
	error = trip_client_command(ctl->client, text, length, &status, &answer, &answer_length);
	if (error != 0)
		return tripctl_fail(error);
	write_answer(status == 0 ? stdout : stderr, answer, answer_length);
	free(answer);
	return status == 0 ? 0 : TRIPCTL_EXIT_USAGE;
}

/* `first` is the command's own word for tripd; with `file`, the word is a file's name. */
static int
run(struct tripctl *ctl, const struct command *command, const char *first, bool file)
{
	size_t length = 0;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &length);
	int code = 0;

	if (stream == NULL)
		return tripctl_complain(TRIPCTL_EXIT_RUN, "no memory");
	fprintf(stream, "%s%s%s", first, command->word != NULL ? " " : "",
		command->word != NULL ? command->word : "");
	for (unsigned int i = 0; i < command->n_more; i++)
		fprintf(stream, " %s", command->more[i]);
	if (file && command->word != NULL) {
		fputc('\n', stream);
		code = read_file(command->word, stream);
	}
	if (fclose(stream) != 0)
		code = tripctl_complain(TRIPCTL_EXIT_RUN, "no memory for the command");
	if (code == 0)
		code = give(ctl, command, text, length);
	free(text);
	return code;
}

#define EXIT_CODES                                                                               \
	"\vExit code: 0; 1: it is not allowed, or tripd takes no commands; 2: tripd could not, " \
	"and has said why: nothing has changed; 5: tripd has ended; 7: it does not answer."

/* A command of tripctl, and how tripd has it. */
static const struct row {
	const char *name, *args_doc, *doc;
	/* Its words for tripd, before the caller's. */
	const char *first;
	/* The caller's word is a file, which goes along. */
	bool file;
	/* Instead of `first`, where the caller has a word. */
	const char *with_word;
	/* Words behind that. */
	unsigned int more;
} rows[] = {
	{"drop", "NAME [KEY [for TIME]]",
		"Has tripd drop the packets of a count, or of a key of an `each', from now on; "
		"they still count. A key may be dropped for a time. " EXIT_CODES,
		"do drop", false, NULL, 3},
	{"pass", "NAME [KEY [for TIME]]",
		"Has tripd let the packets of a count through again; or those of a key of an "
		"`each', whatever its conditions say, until it is let go or for a "
		"time. " EXIT_CODES,
		"do pass", false, NULL, 3},
	{"release", "NAME KEY",
		"Has tripd let go a key of an `each': what is done to it, by hand or by a "
		"condition, ends now. " EXIT_CODES,
		"do release", false, NULL, 1},
	{"delete", "NAME",
		"Has tripd end a count: it matches no more, and keeps its values." EXIT_CODES,
		"do delete", false, NULL},
	{"apply", "FILE",
		"Adds the statements of a file to the rules of tripd, and changes the counts that "
		"it has in other words; writes what that was. - is stdin." EXIT_CODES,
		"apply", true, NULL},
	{"remove", "NAME",
		"Removes a count, counter, quota, set or `each' of the rules of tripd, and each "
		"`when' that speaks of it; writes what that was." EXIT_CODES,
		"remove", false, NULL},
	{"diff", "[FILE]",
		"Writes what would change if tripd had the rules of this file and no others, as a "
		"reload does and apply does not, or read its own again; changes nothing. - is "
		"stdin." EXIT_CODES,
		"diff", true, NULL},
	{"reload", "[SET]",
		"Has tripd read its rules file and the files of its sets again, or that of one set "
		"alone; writes what has changed." EXIT_CODES,
		"reload", false, "reread"},
};

/* argv[0] is "tripctl drop". */
int
tripctl_command(struct tripctl *ctl, int argc, char **argv)
{
	const struct row *row = rows;
	struct tripctl_line line = {.options = options};
	struct command command = {0};

	while (strcmp(strrchr(argv[0], ' ') + 1, row->name) != 0)
		row++;
	line.args_doc = row->args_doc;
	line.doc = row->doc;
	command.most = row->more;
	if (row->args_doc[0] != 0)
		line.word = take_word;
	if (row->args_doc[0] != 0 && row->args_doc[0] != '[')
		line.end = want_word;
	tripctl_options_parse(ctl, &line, argc, argv, &command);
	return run(ctl, &command,
		row->with_word != NULL && command.word != NULL ? row->with_word : row->first,
		row->file);
}
