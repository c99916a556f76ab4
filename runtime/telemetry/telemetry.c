/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of DPDK's telemetry. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <rte_common.h>
#include <rte_telemetry.h>

#include <trip_client.h>
#include <trip_error.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "profile/catalogue.h"
#include "profile/profile.h"
#include "telemetry/fields.h"
#include "telemetry/telemetry.h"

/* A primary that is stopped is not waited for longer than this. */
#define LIMIT_MS 1000

/* Domains of this process. The lock is held while something of one is copied, and by nobody who
 * waits for anything. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, trip_domain) domains = LIST_HEAD_INITIALIZER(domains);

/* ---- what is asked for --------------------------------------------------------------------- */

/* "DOMAIN,NUMBER"; either may be missing. */
struct asked {
	char domain[TRIP_DOMAIN_NAME_MAX + 1];
	uint64_t number;
	bool has_number;
};

static int
take_number(const char *text, const char *what, struct asked *asked)
{
	char *end;

	errno = 0;
	asked->number = strtoull(text, &end, 10);
	asked->has_number = true;
	if (!isdigit((unsigned char)text[0]) || *end != 0 || errno != 0)
		return trip_error_set(EINVAL, "\"%.32s\" is no %s", text, what);
	return 0;
}

static int
take(const char *params, const char *what, struct asked *asked)
{
	const char *given = params != NULL ? params : "", *end = strchrnul(given, ',');
	size_t n = (size_t)(end - given);

	*asked = (struct asked){0};
	if (n > TRIP_DOMAIN_NAME_MAX)
		return trip_error_set(EINVAL, "domain \"%.16s...\": %zu characters, at most %d",
			given, n, TRIP_DOMAIN_NAME_MAX);
	memcpy(asked->domain, given, n);
	return *end == ',' ? take_number(end + 1, what, asked) : 0;
}

/* Under the lock. Nobody has to name the one domain that there is. */
static int
find(const char *name, struct trip_domain **out)
{
	struct trip_domain *domain, *first = LIST_FIRST(&domains);

	if (first == NULL)
		return trip_error_set(ENOENT, "this process has no domain");
	*out = first;
	if (name[0] == 0)
		return LIST_NEXT(first, shown) == NULL
			       ? 0
			       : trip_error_set(EINVAL,
					 "several domains are open: name one of /tripline/list");
	LIST_FOREACH (domain, &domains, shown)
		if (strcmp(domain->name, name) == 0)
			*out = domain;
	return strcmp((*out)->name, name) == 0
		       ? 0
		       : trip_error_set(ENOENT, "this process has no domain \"%s\"", name);
}

/* Of a dictionary that has what could be said: why it has no more. Telemetry itself would tell of
 * an error by null alone. */
static int
answer(struct rte_tel_data *data, int error)
{
	return error == 0 ? 0 : trip_telemetry_text(data, "error", trip_error_message());
}

static int
no_memory(void)
{
	return trip_error_set(ENOMEM, "no memory for the answer");
}

/* ---- what there is ------------------------------------------------------------------------- */

static int
list_domains(const char *command, const char *params, struct rte_tel_data *data)
{
	struct trip_domain *domain;

	rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
	pthread_mutex_lock(&lock);
	LIST_FOREACH (domain, &domains, shown)
		(void)rte_tel_data_add_array_string(data, domain->name);
	pthread_mutex_unlock(&lock);
	return 0;
}

/* A dictionary in another, which has it from now on. */
static struct rte_tel_data *
add_dict(struct rte_tel_data *data, const char *name)
{
	struct rte_tel_data *dict = rte_tel_data_alloc();

	if (dict == NULL)
		return NULL;
	rte_tel_data_start_dict(dict);
	if (rte_tel_data_add_dict_container(data, name, dict, 0) == 0)
		return dict;
	rte_tel_data_free(dict);
	return NULL;
}

/* DPDK 22.11 has no lists of dictionaries: their names are numbers, from 0. */
static int
add_record(struct rte_tel_data *list, const struct trip_telemetry_kind *kind, uint32_t number,
	const void *record)
{
	struct rte_tel_data *dict;
	char name[16];

	snprintf(name, sizeof(name), "%" PRIu32, number);
	dict = add_dict(list, name);
	return dict != NULL && kind->say(dict, record) == 0 ? 0 : no_memory();
}

/* Where to go on, as text: not all of its 64 bits fit the numbers of whoever reads JSON. */
static int
add_next(struct rte_tel_data *data, uint64_t cursor)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, cursor);
	return rte_tel_data_add_dict_string(data, "next", text) == 0 ? 0 : no_memory();
}

/* One more than there is room for is asked for, so that a page that is full tells of a next one
 * only where there is one. */
static int
add_page(struct rte_tel_data *data, const struct trip_telemetry_kind *kind,
	struct trip_client *client, uint64_t cursor)
{
	uint64_t record[TRIP_TELEMETRY_RECORD_MAX / sizeof(uint64_t)], behind = cursor;
	struct rte_tel_data *list = add_dict(data, kind->name);
	int got, error = list != NULL ? 0 : no_memory();

	for (uint32_t n = 0; error == 0; n++) {
		got = trip_client_list(client, kind->kind, &behind, record, kind->size, 1);
		if (got <= 0)
			return got;
		if (n == kind->page)
			return add_next(data, cursor);
		error = add_record(list, kind, n, record);
		cursor = behind;
	}
	return error;
}

static int
find_socket(const char *name, char *path, size_t size)
{
	struct trip_domain *domain;
	int error;

	pthread_mutex_lock(&lock);
	error = find(name, &domain);
	if (error == 0)
		snprintf(path, size, "%s", domain->shown_socket);
	pthread_mutex_unlock(&lock);
	if (error == 0 && path[0] == 0)
		return trip_error_set(ENOTSUP,
			"the domain was opened without a socket, by which it would be listed");
	return error;
}

static int
list_kind(const struct trip_telemetry_kind *kind, const char *params, struct rte_tel_data *data)
{
	char path[sizeof(((struct trip_domain *)0)->shown_socket)];
	struct trip_client *client;
	struct asked asked;
	int error = take(params, "\"next\" of an answer", &asked);

	if (error == 0)
		error = find_socket(asked.domain, path, sizeof(path));
	if (error == 0)
		error = trip_client_open_within(path, LIMIT_MS, &client);
	if (error != 0)
		return error;
	error = add_page(data, kind, client, asked.number);
	trip_client_close(client);
	return error;
}

static int
list(const char *command, const char *params, struct rte_tel_data *data)
{
	const struct trip_telemetry_kind *kind = trip_telemetry_kinds;

	while (strcmp(command, kind->command) != 0)
		kind++;
	rte_tel_data_start_dict(data);
	return answer(data, list_kind(kind, params, data));
}

/* ---- what has been done -------------------------------------------------------------------- */

/* Of an object that is here while the lock is held; so nothing has to know of this profile. */
static int
sample(const struct asked *asked, uint32_t *scope, struct trip_snapshot *snapshot)
{
	uint64_t *values = snapshot->values;
	struct trip_profile profile = {0};
	int error = find(asked->domain, &profile.domain);

	if (error != 0)
		return error;
	if (asked->has_number && asked->number >= profile.domain->engine.n_homes)
		return trip_error_set(ENOENT,
			"domain \"%s\" has lcores 0 to %" PRIu32 ", no %" PRIu64,
			profile.domain->name, profile.domain->engine.n_homes - 1, asked->number);
	profile.scope = asked->has_number ? TRIP_CATALOGUE_LCORE : TRIP_CATALOGUE_DOMAIN;
	profile.fid = asked->has_number ? &profile.domain->lcore_fids[asked->number]
					: &profile.domain->fid;
	*scope = profile.scope;
	trip_profile_sample(&profile, snapshot);
	trip_profile_sample_spreads(&profile, &snapshot->spreads);
	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS; i++)
		if (trip_catalogue_vars[i].spread != TRIP_CATALOGUE_NO_SPREAD)
			values[i] = trip_profile_of_spread(profile.domain, &trip_catalogue_vars[i],
				&snapshot->spreads.of[trip_catalogue_vars[i].spread - 1]);
	return 0;
}

static int
add_variables(struct rte_tel_data *data, uint32_t scope, const struct trip_snapshot *snapshot)
{
	int error = 0;

	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS && error == 0; i++)
		if ((trip_catalogue_vars[i].scopes & scope) != 0)
			error = trip_telemetry_u64(
				data, trip_catalogue_vars[i].name, snapshot->values[i]);
	return error == 0 ? 0 : no_memory();
}

static int
profile(const char *command, const char *params, struct rte_tel_data *data)
{
	struct trip_snapshot snapshot;
	struct asked asked;
	uint32_t scope = 0;
	int error = take(params, "number of an lcore of the domain", &asked);

	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&lock);
	if (error == 0)
		error = sample(&asked, &scope, &snapshot);
	pthread_mutex_unlock(&lock);
	return answer(data, error == 0 ? add_variables(data, scope, &snapshot) : error);
}

static int
explain(const char *command, const char *params, struct rte_tel_data *data)
{
	int error = 0;

	rte_tel_data_start_dict(data);
	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS && error == 0; i++)
		error = trip_telemetry_text(
			data, trip_catalogue_vars[i].name, trip_catalogue_vars[i].meaning);
	return answer(data, error == 0 ? 0 : no_memory());
}

/* ---- from the first domain on -------------------------------------------------------------- */

/* Where others have taken all of telemetry's room, there are fewer; a domain is opened anyway. */
static void
register_commands(void)
{
	(void)rte_telemetry_register_cmd(
		"/tripline/list", list_domains, "Domains of this process. No parameters");
	(void)rte_telemetry_register_cmd("/tripline/profile", profile,
		"What lcores have done. [DOMAIN][,LCORE]; all: together");
	(void)rte_telemetry_register_cmd(
		"/tripline/vars", explain, "What the variables of profiles mean. No parameters");
	for (unsigned int i = 0; i < TRIP_TELEMETRY_KINDS; i++)
		(void)rte_telemetry_register_cmd(
			trip_telemetry_kinds[i].command, list, trip_telemetry_kinds[i].help);
}

void
trip_telemetry_show(struct trip_domain *domain, const char *socket)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_commands);
	snprintf(domain->shown_socket, sizeof(domain->shown_socket), "%s", socket);
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&domains, domain, shown);
	pthread_mutex_unlock(&lock);
}

void
trip_telemetry_hide(struct trip_domain *domain)
{
	pthread_mutex_lock(&lock);
	LIST_REMOVE(domain, shown);
	pthread_mutex_unlock(&lock);
}
