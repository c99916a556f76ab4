/* SPDX-License-Identifier: BSD-3-Clause */
/* The processors that the words for EAL ask for: are they there? */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cpus.h"
#include "fail.h"
#include "options.h"
#include "words.h"

#define TEXT_MAX 128

/* Adds "5" or "0-3"; returns what follows, or NULL where it is neither. */
static const char *
add_range(const char *text, cpu_set_t *set)
{
	unsigned long first, last;
	char *end;

	first = last = strtoul(text, &end, 10);
	if (end == text)
		return NULL;
	if (*end == '-') {
		text = end + 1;
		last = strtoul(text, &end, 10);
		if (end == text)
			return NULL;
	}
	for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, set);
	return end;
}

/* "0-3" or "(0,2-3)": the processors of an lcore, or lcores that are called as theirs. */
static const char *
add_set(const char *text, cpu_set_t *set)
{
	bool list = *text == '(';

	text += list;
	do {
		text = add_range(text, set);
	} while (list && text != NULL && *text++ == ',');
	return text != NULL && list && text[-1] != ')' ? NULL : text;
}

/* --lcores=0@1,(2-3)@(4,5),6: what stands behind @, or where there is none, before it. */
static void
add_lcores(const char *text, cpu_set_t *set)
{
	cpu_set_t lcores, cpus;

	while (text != NULL) {
		CPU_ZERO(&lcores);
		CPU_ZERO(&cpus);
		text = add_set(text, &lcores);
		if (text != NULL && *text == '@')
			text = add_set(text + 1, &cpus);
		else
			cpus = lcores;
		if (text != NULL)
			CPU_OR(set, set, &cpus);
		text = text != NULL && *text == ',' ? text + 1 : NULL;
	}
}

static void
add_mask(const char *text, cpu_set_t *set)
{
	static const char digits[] = "0123456789abcdef";
	size_t n;

	if (strncasecmp(text, "0x", 2) == 0)
		text += 2;
	n = strspn(text, "0123456789abcdefABCDEF");
	for (size_t i = 0; i < n && 4 * i < CPU_SETSIZE; i++) {
		const char *digit = strchr(digits, text[n - 1 - i] | 0x20);

		for (size_t bit = 0; digit != NULL && bit < 4; bit++)
			if (((digit - digits) >> bit & 1) != 0)
				CPU_SET(4 * i + bit, set);
	}
}

/* What -l, -c or --lcores ask for, as far as it is understood here: EAL has the last word. */
static void
read_asked(const struct tripd_words *words, cpu_set_t *asked)
{
	CPU_ZERO(asked);
	if (words->lcores == NULL)
		return;
	if (strcmp(words->lcores_option, "-c") == 0)
		add_mask(words->lcores, asked);
	else
		add_lcores(words->lcores, asked);
}

/* The kernel knows: a CPU may be offline, or not for this process. */
static bool
may_run_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

/* Of a set that is not empty. */
static int
first_of(const cpu_set_t *set)
{
	int cpu = 0;

	while (!CPU_ISSET(cpu, set))
		cpu++;
	return cpu;
}

static int
last_of(const cpu_set_t *set)
{
	int cpu = CPU_SETSIZE - 1;

	while (!CPU_ISSET(cpu, set))
		cpu--;
	return cpu;
}

/* "0-2,5". */
static const char *
as_text(const cpu_set_t *set, char text[TEXT_MAX])
{
	size_t n = 0;

	text[0] = 0;
	for (int first = 0, last; first < CPU_SETSIZE && n < TEXT_MAX; first = last + 1) {
		last = first;
		if (!CPU_ISSET(first, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		n += (size_t)snprintf(text + n, TEXT_MAX - n, last > first ? "%s%d-%d" : "%s%d",
			n > 0 ? "," : "", first, last);
	}
	return text;
}

int
tripd_cpus_check(const struct tripd_words *words)
{
	char lacking[TEXT_MAX], having[TEXT_MAX];
	cpu_set_t asked, missing, there, before;

	read_asked(words, &asked);
	if (CPU_COUNT(&asked) == 0 || sched_getaffinity(0, sizeof(before), &before) != 0)
		return 0;
	CPU_ZERO(&there);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (may_run_on(cpu))
			CPU_SET(cpu, &there);
	sched_setaffinity(0, sizeof(before), &before);
	CPU_OR(&missing, &asked, &there);
	CPU_XOR(&missing, &missing, &there);
	if (CPU_COUNT(&missing) == 0)
		return 0;
	return tripd_fail(TRIPD_EXIT_USAGE,
		"%s %s: this process has no CPU %s; its CPUs are %s; lcores may share them: "
		"--lcores 0@%d,1@%d,2@%d",
		words->lcores_option, words->lcores, as_text(&missing, lacking),
		as_text(&there, having), first_of(&there), first_of(&there), last_of(&there));
}
