/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct rules, the DV engine's steering: domains, tables, matchers, rules and actions. In a real
 * card libmlx5 writes them to the card's memory; here they are what match.h has, on the same
 * device. Table 0 of the receiving and of the sending domain is where packets begin. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "devx.h"

enum {
	MATCH_HEADERS = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4, /* the sections of packet.h */
};

struct mlx5dv_dr_domain {
	struct vcx_device *device;
	enum mlx5dv_dr_domain_type type;
	bool duplicates;
};

struct mlx5dv_dr_table {
	struct mlx5dv_dr_domain *domain;
	struct vcx_table *table; /* `own`, or the device's */
	struct vcx_table own;
	_Atomic unsigned users;
};

struct mlx5dv_dr_matcher {
	struct mlx5dv_dr_table *table;
	struct vcx_matcher *matcher;
};

struct mlx5dv_dr_rule {
	struct vcx_device *device;
	struct vcx_rule *rule;
};

struct mlx5dv_dr_action {
	enum {
		ACTION_DROP,
		ACTION_MISS,
		ACTION_TAG,
		ACTION_COUNT,
		ACTION_RSS,
		ACTION_TABLE,
	} kind;
	uint32_t tag;
	struct vcx_counters *counters;
	uint32_t offset;
	const struct vcx_rss *rss;
	struct mlx5dv_dr_table *table;
};

/* ---- domains and tables ------------------------------------------------------------------------
 */

struct mlx5dv_dr_domain *
mlx5dv_dr_domain_create(struct ibv_context *context, enum mlx5dv_dr_domain_type type)
{
	struct mlx5dv_dr_domain *domain;

	if (type != MLX5DV_DR_DOMAIN_TYPE_NIC_RX && type != MLX5DV_DR_DOMAIN_TYPE_NIC_TX) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	domain = calloc(1, sizeof(*domain));
	if (domain == NULL)
		return NULL;
	domain->device = vcx_device_context(context)->device;
	domain->type = type;
	domain->duplicates = true;
	return domain;
}

int
mlx5dv_dr_domain_destroy(struct mlx5dv_dr_domain *domain)
{
	free(domain);
	return 0;
}

int
mlx5dv_dr_domain_sync(struct mlx5dv_dr_domain *domain, uint32_t flags)
{
	(void)domain, (void)flags;
	return 0;
}

void
mlx5dv_dr_domain_set_reclaim_device_memory(struct mlx5dv_dr_domain *domain, bool enable)
{
	(void)domain, (void)enable;
}

void
mlx5dv_dr_domain_allow_duplicate_rules(struct mlx5dv_dr_domain *domain, bool allow)
{
	domain->duplicates = allow;
}

struct mlx5dv_dr_table *
mlx5dv_dr_table_create(struct mlx5dv_dr_domain *domain, uint32_t level)
{
	struct mlx5dv_dr_table *table = calloc(1, sizeof(*table));
	bool receives = domain->type == MLX5DV_DR_DOMAIN_TYPE_NIC_RX;

	if (table == NULL)
		return NULL;
	table->domain = domain;
	vcx_match_table_init(&table->own);
	table->table = level > 0  ? &table->own
		       : receives ? &domain->device->root
				  : &domain->device->tx_root;
	return table;
}

int
mlx5dv_dr_table_destroy(struct mlx5dv_dr_table *table)
{
	if (atomic_load(&table->users) > 0)
		return EBUSY;
	free(table);
	return 0;
}

/* ---- matchers and rules ------------------------------------------------------------------------
 */

static void
take_key(union vcx_key *key, const struct mlx5dv_flow_match_parameters *parameters)
{
	size_t bytes = parameters->match_sz < sizeof(*key) ? parameters->match_sz : sizeof(*key);

	memset(key, 0, sizeof(*key));
	memcpy(key, parameters->match_buf, bytes);
}

struct mlx5dv_dr_matcher *
mlx5dv_dr_matcher_create(struct mlx5dv_dr_table *table, uint16_t priority, uint8_t criteria,
	struct mlx5dv_flow_match_parameters *mask)
{
	struct mlx5dv_dr_matcher *matcher = NULL;
	union vcx_key key;

	if (criteria & ~MATCH_HEADERS) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	matcher = calloc(1, sizeof(*matcher));
	if (matcher == NULL)
		return NULL;
	take_key(&key, mask);
	matcher->table = table;
	pthread_mutex_lock(&table->domain->device->lock);
	matcher->matcher = vcx_match_matcher(table->table, &key, priority, false);
	pthread_mutex_unlock(&table->domain->device->lock);
	if (matcher->matcher == NULL) {
		free(matcher);
		errno = ENOMEM;
		return NULL;
	}
	atomic_fetch_add(&table->users, 1);
	return matcher;
}

int
mlx5dv_dr_matcher_destroy(struct mlx5dv_dr_matcher *matcher)
{
	struct vcx_device *device = matcher->table->domain->device;
	bool used;

	pthread_mutex_lock(&device->lock);
	used = matcher->matcher->rules > 0;
	if (!used)
		vcx_match_matcher_free(matcher->matcher);
	pthread_mutex_unlock(&device->lock);
	if (used)
		return EBUSY;
	atomic_fetch_sub(&matcher->table->users, 1);
	free(matcher);
	return 0;
}

/* A counter beyond its bulk is refused here and not before: the driver tries one, to learn whether
 * offsets are looked at. */
static int
join(size_t count, struct mlx5dv_dr_action *const actions[], struct vcx_actions *joined)
{
	for (size_t i = 0; i < count; i++) {
		const struct mlx5dv_dr_action *action = actions[i];

		switch (action->kind) {
		case ACTION_DROP:
			joined->drop = true;
			break;
		case ACTION_MISS:
			break;
		case ACTION_TAG:
			joined->tag = action->tag;
			joined->tagged = true;
			break;
		case ACTION_COUNT:
			if (action->offset >= action->counters->count)
				return EINVAL;
			joined->counter = &action->counters->counter[action->offset];
			break;
		case ACTION_RSS:
			joined->rss = action->rss;
			break;
		case ACTION_TABLE:
			joined->table = action->table->table;
			break;
		}
	}
	return 0;
}

static struct vcx_rule *
add_rule(const struct mlx5dv_dr_matcher *matcher, const union vcx_key *value,
	const struct vcx_actions *actions, int *error)
{
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	struct vcx_rule *rule = NULL;

	pthread_mutex_lock(&domain->device->lock);
	if (!domain->duplicates && matcher->table->table == &matcher->table->own &&
		vcx_match_has(matcher->matcher, value)) {
		*error = EEXIST;
	} else {
		rule = vcx_match_add(matcher->matcher, value, actions);
		*error = rule == NULL ? ENOMEM : 0;
		domain->device->rule_count += rule != NULL;
	}
	pthread_mutex_unlock(&domain->device->lock);
	return rule;
}

struct mlx5dv_dr_rule *
mlx5dv_dr_rule_create(struct mlx5dv_dr_matcher *matcher, struct mlx5dv_flow_match_parameters *value,
	size_t num_actions, struct mlx5dv_dr_action *actions[])
{
	struct vcx_device *device = matcher->table->domain->device;
	struct vcx_actions joined = {.drop = false};
	struct mlx5dv_dr_rule *rule = NULL;
	int error = vcx_device_command(device, VCX_RULE_CREATE);
	union vcx_key key;

	if (error == 0)
		error = join(num_actions, actions, &joined);
	if (error == 0 && (rule = calloc(1, sizeof(*rule))) == NULL)
		error = ENOMEM;
	if (error == 0) {
		take_key(&key, value);
		rule->device = device;
		rule->rule = add_rule(matcher, &key, &joined, &error);
	}
	if (error != 0) {
		free(rule);
		errno = error;
		return NULL;
	}
	return rule;
}

int
mlx5dv_dr_rule_destroy(struct mlx5dv_dr_rule *rule)
{
	vcx_device_ended(rule->device, VCX_RULE_DESTROY);
	pthread_mutex_lock(&rule->device->lock);
	vcx_match_remove(rule->rule);
	rule->device->rule_count--;
	pthread_mutex_unlock(&rule->device->lock);
	free(rule);
	return 0;
}

/* ---- actions -----------------------------------------------------------------------------------
 */

static struct mlx5dv_dr_action *
action_create(struct mlx5dv_dr_action contents)
{
	struct mlx5dv_dr_action *action = malloc(sizeof(*action));

	if (action != NULL)
		*action = contents;
	return action;
}

struct mlx5dv_dr_action *
mlx5dv_dr_action_create_drop(void)
{
	return action_create((struct mlx5dv_dr_action){.kind = ACTION_DROP});
}

struct mlx5dv_dr_action *
mlx5dv_dr_action_create_default_miss(void)
{
	return action_create((struct mlx5dv_dr_action){.kind = ACTION_MISS});
}

struct mlx5dv_dr_action *
mlx5dv_dr_action_create_tag(uint32_t tag)
{
	return action_create((struct mlx5dv_dr_action){.kind = ACTION_TAG, .tag = tag});
}

struct mlx5dv_dr_action *
mlx5dv_dr_action_create_flow_counter(struct mlx5dv_devx_obj *obj, uint32_t offset)
{
	struct vcx_counters *counters = vcx_devx_counters(obj);

	if (counters == NULL) {
		errno = EINVAL;
		return NULL;
	}
	return action_create((struct mlx5dv_dr_action){
		.kind = ACTION_COUNT, .counters = counters, .offset = offset});
}

struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_devx_tir(struct mlx5dv_devx_obj *obj)
{
	const struct vcx_rss *rss = vcx_devx_rss(obj);

	if (rss == NULL) {
		errno = EINVAL;
		return NULL;
	}
	return action_create((struct mlx5dv_dr_action){.kind = ACTION_RSS, .rss = rss});
}

/* The verbs engine makes one too, and never uses it. */
struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_ibv_qp(struct ibv_qp *qp)
{
	return action_create(
		(struct mlx5dv_dr_action){.kind = ACTION_RSS, .rss = vcx_objects_rss(qp)});
}

struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_table(struct mlx5dv_dr_table *table)
{
	struct mlx5dv_dr_action *action =
		action_create((struct mlx5dv_dr_action){.kind = ACTION_TABLE, .table = table});

	if (action != NULL)
		atomic_fetch_add(&table->users, 1);
	return action;
}

int
mlx5dv_dr_action_destroy(struct mlx5dv_dr_action *action)
{
	if (action->kind == ACTION_TABLE)
		atomic_fetch_sub(&action->table->users, 1);
	free(action);
	return 0;
}

int
mlx5dv_dump_dr_domain(FILE *file, struct mlx5dv_dr_domain *domain)
{
	return fprintf(file, "vcx%u: %llu rules\n", domain->device->port,
		       (unsigned long long)domain->device->rule_count) < 0
		       ? EIO
		       : 0;
}

int
mlx5dv_dump_dr_rule(FILE *file, struct mlx5dv_dr_rule *rule)
{
	return fprintf(file, "vcx%u: a rule of %u words, priority %u\n", rule->device->port,
		       rule->rule->matcher->words, rule->rule->matcher->priority) < 0
		       ? EIO
		       : 0;
}
