/* SPDX-License-Identifier: BSD-3-Clause */
/* Two results beside each other: what got faster, and what slower. */
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "bench.h"

static json_t *
load(const char *path)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);

	if (root == NULL)
		fprintf(stderr, "trip-bench: %s: %s\n", path, error.text);
	else if (json_is_array(json_object_get(root, "bench")))
		return root;
	else
		fprintf(stderr, "trip-bench: %s: no result of trip-bench: it has no \"bench\"\n",
			path);
	json_decref(root);
	return NULL;
}

static const char *
text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* NAN where there is none. */
static double
number_of(json_t *object, const char *key)
{
	json_t *number = json_object_get(object, key);

	return json_is_number(number) ? json_number_value(number) : NAN;
}

static json_t *
find(json_t *root, const char *name)
{
	json_t *bench;
	size_t i;

	json_array_foreach(json_object_get(root, "bench"), i,
		bench) if (strcmp(text_of(bench, "name"), name) == 0) return bench;
	return NULL;
}

static void
print_pair(double before, double after)
{
	if (isnan(before) || isnan(after))
		printf(" %16s", "");
	else
		printf(" %7.2f %8.2f", before, after);
}

/* The ratio to the limit, or else to the peer, moves less with the machine than the value does. */
static void
print_row(json_t *before, json_t *after)
{
	double was = number_of(before, "value"), is = number_of(after, "value");
	const char *ratio = isnan(number_of(after, "vs_limit")) ? "vs_peer" : "vs_limit";
	double ratio_was = number_of(before, ratio), ratio_is = number_of(after, ratio);

	printf("%-15s %-12s %10.2f %10.2f %+6.1f%%", text_of(after, "name"), text_of(after, "unit"),
		was, is, 100 * (is / was - 1));
	print_pair(ratio_was, ratio_is);
	if (!isnan(ratio_was) && !isnan(ratio_is))
		printf(" %+6.1f%% %s", 100 * (ratio_is / ratio_was - 1), ratio);
	putchar('\n');
}

static void
print_head(json_t *before, json_t *after)
{
	printf("before: %s, %s\nafter:  %s, %s\n", text_of(before, "commit"),
		text_of(before, "machine"), text_of(after, "commit"), text_of(after, "machine"));
	if (strcmp(text_of(before, "machine"), text_of(after, "machine")) != 0)
		printf("The machines differ: only the ratios say something.\n");
	printf("%-15s %-12s %10s %10s %7s %7s %8s %7s\n", "benchmark", "unit", "before", "after",
		"", "ratio", "after", "");
}

int
bench_compare(const char *before, const char *after)
{
	json_t *old = load(before), *new = old != NULL ? load(after) : NULL, *bench;
	size_t i;

	if (new != NULL) {
		print_head(old, new);
		json_array_foreach(json_object_get(new, "bench"), i, bench)
		{
			json_t *was = find(old, text_of(bench, "name"));

			if (was == NULL || isnan(number_of(was, "value")) ||
				isnan(number_of(bench, "value")))
				printf("%-15s in one of them only\n", text_of(bench, "name"));
			else
				print_row(was, bench);
		}
	}
	json_decref(old);
	json_decref(new);
	return new != NULL ? 0 : 1;
}
