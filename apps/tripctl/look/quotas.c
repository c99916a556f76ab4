/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "quotas.h"

static bool
take_text(const json_t *object, const char *key, char *into, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL && (size_t)snprintf(into, size, "%s", text) < size;
}

static bool
take_number(const json_t *object, const char *key, uint64_t *number)
{
	const json_t *value = json_object_get(object, key);

	*number = (uint64_t)json_integer_value(value);
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool
take_quota(const json_t *object, struct tripctl_quota *quota)
{
	const json_t *began = json_object_get(object, "began"),
		     *ends = json_object_get(object, "ends");

	quota->began = json_integer_value(began);
	quota->ends = json_is_null(ends) ? TRIPCTL_QUOTA_NEVER : json_integer_value(ends);
	return take_text(object, "name", quota->name, sizeof(quota->name)) &&
	       take_text(object, "of", quota->of, sizeof(quota->of)) &&
	       take_text(object, "state", quota->state, sizeof(quota->state)) &&
	       take_number(object, "limit", &quota->limit) &&
	       take_number(object, "spent", &quota->spent) &&
	       take_number(object, "ended", &quota->ended) && json_is_integer(began) &&
	       (json_is_null(ends) || json_is_integer(ends));
}

static int
take_all(struct tripctl_quotas *quotas, const json_t *list)
{
	size_t n = json_array_size(list);
	struct tripctl_quota *all = calloc(n + 1, sizeof(*all));

	if (all == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!take_quota(json_array_get(list, i), &all[i])) {
			free(all);
			return -EPROTO;
		}
	free(quotas->all);
	*quotas = (struct tripctl_quotas){all, n};
	return 0;
}

int
tripctl_quotas_read(struct tripctl_quotas *quotas, struct trip_client *client)
{
	size_t length = 0;
	int status = 0;
	char *answer;
	json_t *list;
	int error =
		trip_client_command(client, "quotas", strlen("quotas"), &status, &answer, &length);

	if (error != 0)
		return error;
	list = status == 0 ? json_loadb(answer, length, 0, NULL) : NULL;
	free(answer);
	if (status != 0)
		return status == -ENOMEM ? -ENOMEM : -ENOENT;
	error = json_is_array(list) ? take_all(quotas, list) : -EPROTO;
	json_decref(list);
	return error;
}

void
tripctl_quotas_free(struct tripctl_quotas *quotas)
{
	free(quotas->all);
	*quotas = (struct tripctl_quotas){NULL, 0};
}

double
tripctl_quotas_share(const struct tripctl_quota *quota)
{
	return quota->limit != 0 ? (double)quota->spent / (double)quota->limit : 0;
}

const char *
tripctl_quotas_date(int64_t seconds, char out[TRIPCTL_QUOTAS_DATE])
{
	time_t time = (time_t)seconds;
	struct tm local;

	if (seconds == TRIPCTL_QUOTA_NEVER || localtime_r(&time, &local) == NULL ||
		strftime(out, TRIPCTL_QUOTAS_DATE, "%Y-%m-%dT%H:%M:%S%z", &local) == 0)
		strcpy(out, "-");
	return out;
}

static void
members(struct tripctl_sheet *sheet, const void *record)
{
	const struct tripctl_quota *quota = record;
	char began[TRIPCTL_QUOTAS_DATE], ends[TRIPCTL_QUOTAS_DATE];

	tripctl_sheet_text(sheet, NULL, "name", quota->name);
	tripctl_sheet_number(sheet, "SPENT", "spent", quota->spent);
	tripctl_sheet_number(sheet, "LIMIT", "limit", quota->limit);
	tripctl_sheet_text(sheet, "<OF", "of", quota->of);
	tripctl_sheet_cell(sheet, "SHARE", "%.1f%%", 100 * tripctl_quotas_share(quota));
	tripctl_sheet_json(sheet, "share", json_real(tripctl_quotas_share(quota)));
	tripctl_sheet_text(sheet, "<STATE", "state", quota->state);
	tripctl_sheet_cell(sheet, "<BEGAN", "%s", tripctl_quotas_date(quota->began, began));
	tripctl_sheet_json(sheet, "began", json_integer(quota->began));
	tripctl_sheet_cell(sheet, "<ENDS", "%s", tripctl_quotas_date(quota->ends, ends));
	tripctl_sheet_json(sheet, "ends",
		quota->ends != TRIPCTL_QUOTA_NEVER ? json_integer(quota->ends) : json_null());
	tripctl_sheet_number(sheet, NULL, "ended", quota->ended);
	tripctl_sheet_cell(sheet, "<NAME", "%s", quota->name);
}

const struct tripctl_record_kind tripctl_quotas_kind = {
	.name = "quotas",
	.size = sizeof(struct tripctl_quota),
	.members = members,
};
