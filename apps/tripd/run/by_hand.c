/* SPDX-License-Identifier: BSD-3-Clause */
/* What a command says of a key: "drop NAME KEY [for TIME]", "pass" likewise, "release NAME KEY". */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "by_hand.h"
#include "quota.h"
#include "rules.h"

#define WORD_MAX 160

struct words {
	char op[WORD_MAX], name[WORD_MAX], key[WORD_MAX], for_[WORD_MAX], time[WORD_MAX];
	bool more;
};

static const char *
take_word(const char *at, char word[WORD_MAX])
{
	size_t length;

	at += strspn(at, " ");
	length = strcspn(at, " ");
	snprintf(word, WORD_MAX, "%.*s", (int)length, at);
	return at + length;
}

static struct words
split(const char *text)
{
	struct words words;

	text = take_word(text, words.op);
	text = take_word(text, words.name);
	text = take_word(text, words.key);
	text = take_word(text, words.for_);
	text = take_word(text, words.time);
	words.more = text[strspn(text, " ")] != 0;
	return words;
}

/* UINT_MAX: there is none. */
static unsigned int
find_each(const struct trip_rules *rules, const char *name)
{
	for (unsigned int i = 0; i < rules->n_eaches; i++)
		if (!rules->eaches[i].count.gone && strcmp(rules->eaches[i].count.name, name) == 0)
			return i;
	return UINT_MAX;
}

static bool
lets_go(const struct words *words)
{
	return strcmp(words->op, "release") == 0;
}

bool
tripd_by_hand_is_meant(const struct tripd_quota *quota, const char *text)
{
	const struct words words = split(text);

	return lets_go(&words) || find_each(quota->rules, words.name) != UINT_MAX;
}

/* As rules have it; 0: it is none. */
static uint64_t
time_of(const char *word)
{
	struct trip_rules_errors *errors = NULL;
	struct trip_rules *rules;
	char text[WORD_MAX + 32];
	uint64_t ns = 0;

	snprintf(text, sizeof(text), "when after %s log", word);
	if (strpbrk(word, "#\\\"") == NULL &&
		trip_rules_parse_text("", text, strlen(text), &rules, &errors) == 0) {
		ns = rules->whens[0].threshold;
		trip_rules_free(rules);
	}
	trip_rules_errors_free(errors);
	return ns;
}

static int
refuse(FILE *answer, int error, const char *what, const char *word)
{
	fprintf(answer, what, word);
	fputc('\n', answer);
	return error;
}

static int
check(const struct tripd_quota *quota, const struct words *words, FILE *answer)
{
	const bool holds = strcmp(words->op, "drop") == 0 || strcmp(words->op, "pass") == 0;

	if (find_each(quota->rules, words->name) == UINT_MAX)
		return refuse(answer, -ENOENT,
			"no 'each' is named '%.32s'; of a count, 'pass' ends what is done to it",
			words->name);
	if (!holds && !lets_go(words))
		return refuse(answer, -EINVAL,
			"expected drop, pass or release of a key of an 'each', found '%.32s'",
			words->op);
	if (words->key[0] == 0)
		return refuse(answer, -EINVAL,
			"'%.32s' is an 'each': a key of it is missing, as NAME KEY [for TIME]",
			words->name);
	if (words->for_[0] != 0 && (strcmp(words->for_, "for") != 0 || lets_go(words)))
		return refuse(answer, -EINVAL,
			lets_go(words) ? "expected nothing behind the key that is let go, found "
					 "'%.32s'"
				       : "expected 'for' TIME behind the key, found '%.32s'",
			words->for_);
	if (words->for_[0] != 0 && (time_of(words->time) < 1000 || words->more))
		return refuse(answer, -EINVAL,
			"expected a TIME of 1us at least behind 'for', and nothing behind that, "
			"found '%.32s'",
			words->time);
	return 0;
}

int
tripd_by_hand(struct tripd_quota *quota, const char *text, FILE *answer)
{
	const struct words words = split(text);
	int ret = check(quota, &words, answer);

	if (ret != 0)
		return ret;
	return tripd_quota_each_hold(quota, find_each(quota->rules, words.name), words.key,
		words.op[0] == 'd'   ? TRIP_EACH_OP_DROP
		: words.op[0] == 'p' ? TRIP_EACH_OP_PASS
				     : TRIP_EACH_OP_NONE,
		words.for_[0] != 0 ? time_of(words.time) / 1000 : 0, answer);
}
