/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, numbers and times as people read them, and times as they write them. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define DAY_NS 86400000000000.0

const char *
tripctl_text_escape(const char *text, char *out, size_t size)
{
	size_t n = 0;

	for (; *text != 0; text++) {
		unsigned char byte = (unsigned char)*text;
		char piece[8];
		int length;

		if (byte == '\\')
			length = snprintf(piece, sizeof(piece), "\\\\");
		else if (byte < 0x20 || byte >= 0x7f)
			length = snprintf(piece, sizeof(piece), "\\x%02x", byte);
		else
			length = snprintf(piece, sizeof(piece), "%c", byte);
		if (n + (size_t)length >= size)
			break;
		memcpy(out + n, piece, (size_t)length);
		n += (size_t)length;
	}
	out[n] = 0;
	return out;
}

bool
tripctl_text_is_wanted(const char *filter, const char *name)
{
	if (filter == NULL || filter[0] == 0)
		return true;
	if (strpbrk(filter, "*?[") != NULL)
		return fnmatch(filter, name, 0) == 0;
	return strstr(name, filter) != NULL;
}

const char *
tripctl_text_exact(uint64_t number, char out[TRIPCTL_TEXT_NUMBER])
{
	snprintf(out, TRIPCTL_TEXT_NUMBER, "%" PRIu64, number);
	return out;
}

const char *
tripctl_text_short(double number, char out[TRIPCTL_TEXT_NUMBER])
{
	static const char units[] = "kMGTPE";
	unsigned int unit = 0;

	if (number < 999999.5) {
		snprintf(out, TRIPCTL_TEXT_NUMBER, "%.0f", number);
		return out;
	}
	number /= 1000;
	while (number >= 999.95 && unit + 2 < sizeof(units)) {
		number /= 1000;
		unit++;
	}
	snprintf(out, TRIPCTL_TEXT_NUMBER,
		number < 9.9995   ? "%.3f%c"
		: number < 99.995 ? "%.2f%c"
				  : "%.1f%c",
		number, units[unit]);
	return out;
}

const char *
tripctl_text_time(uint64_t ns, char out[TRIPCTL_TEXT_NUMBER])
{
	static const char *const units[] = {"us", "ms", "s"};
	uint64_t s = ns / 1000000000;
	double number = (double)ns / 1e3;
	unsigned int unit = 0;

	/* What would round to 1000 has the next unit. */
	for (; number >= 999.5 && unit < 2; unit++)
		number /= 1000;
	if (ns < 1000)
		snprintf(out, TRIPCTL_TEXT_NUMBER, "%" PRIu64 " ns", ns);
	else if (s < 100)
		snprintf(out, TRIPCTL_TEXT_NUMBER, number < 99.95 ? "%.1f %s" : "%.0f %s", number,
			units[unit]);
	else if (s < 6000)
		snprintf(out, TRIPCTL_TEXT_NUMBER, "%" PRIu64 "m%02" PRIu64, s / 60, s % 60);
	else if (s < 360000)
		snprintf(out, TRIPCTL_TEXT_NUMBER, "%" PRIu64 "h%02" PRIu64, s / 3600, s / 60 % 60);
	else
		snprintf(out, TRIPCTL_TEXT_NUMBER, "%" PRIu64 "d", s / 86400);
	return out;
}

const char *
tripctl_text_whole_time(uint64_t ns, char out[TRIPCTL_TEXT_NUMBER])
{
	static const struct {
		const char *name;
		uint64_t of;
	} units[] = {{"ns", 1000}, {"us", 1000}, {"ms", 1000}, {"s", 60}, {"m", 60}, {"h", 24},
		{"d", UINT64_MAX}};
	unsigned int unit = 0;

	for (; ns != 0 && ns % units[unit].of == 0; unit++)
		ns /= units[unit].of;
	snprintf(out, TRIPCTL_TEXT_NUMBER, "%" PRIu64 "%s", ns, units[unit].name);
	return out;
}

int
tripctl_text_parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9},
		{"h", 3600e9}, {"d", DAY_NS}};
	char *end;
	double number = strtod(text, &end);

	/* strtod() knows more: blanks, signs, hexadecimal, infinity. */
	if (!isdigit((unsigned char)text[0]) || strspn(text, "0123456789.") < (size_t)(end - text))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (!(number * units[i].ns <= 10000 * DAY_NS))
			return -ERANGE;
		*ns = (uint64_t)(number * units[i].ns);
		return 0;
	}
	return -EINVAL;
}
