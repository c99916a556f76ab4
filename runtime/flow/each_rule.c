/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of statements as what rules of rte_flow match. A rule drops, and takes its packets from
 * software: so it may match less than has the key there, which software goes on dropping, and never
 * more. Ports are matched behind the protocol that the key has, of TCP and UDP alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "domain/error.h"
#include "flow/each_rule.h"
#include "flow/flow.h"

#define CHANGES_DEFAULT 100u
#define CHANGES_MAX 1000000u

const struct rte_flow_action trip_each_rule_actions[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT},
	{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};

/* ---- which keys -------------------------------------------------------------------------------
 */

static bool
is_port(uint8_t field)
{
	return field == TRIP_EACH_L4_SRC || field == TRIP_EACH_L4_DST;
}

static bool
has_field(const struct trip_each_statement *statement, uint8_t field)
{
	for (uint32_t i = 0; i < statement->n_parts; i++)
		if (statement->parts[i].field == field)
			return true;
	return false;
}

static bool
has_address(const struct trip_each_statement *statement)
{
	for (uint32_t i = 0; i < statement->n_parts; i++)
		if (trip_each_key_shape(statement->parts[i].field).address)
			return true;
	return false;
}

/* What no one rule matches of a key, or NULL. */
static const char *
refuse_key(const struct trip_each_statement *statement)
{
	for (uint32_t i = 0; i < statement->n_parts; i++)
		switch (statement->parts[i].field) {
		case TRIP_EACH_VXLAN_VNI:
		case TRIP_EACH_MPLS_LABEL:
		case TRIP_EACH_GTPU_TEID:
			return "what tunnels and labels have";
		case TRIP_EACH_PROTO:
			if (!has_address(statement))
				return "proto without an address, which IPv4 and IPv6 have";
			break;
		case TRIP_EACH_L4_SRC:
		case TRIP_EACH_L4_DST:
			if (!has_address(statement) || !has_field(statement, TRIP_EACH_PROTO))
				return "ports without an address and proto, as several protocols "
				       "have ports";
			break;
		default:
			break;
		}
	return NULL;
}

static const char *
refuse_whens(const struct trip_each_statement *statement)
{
	bool drops = false;

	for (uint32_t i = 0; i < statement->n_whens; i++) {
		if (statement->acts[i].op == TRIP_EACH_OP_RESET)
			return "a condition by which a key begins anew";
		/* Counts come late, and in sums. */
		if (statement->whens[i].quiet_us != 0)
			return "a condition that is a time for which a key is quiet";
		if (statement->whens[i].group != 0 || statement->whens[i].again != 0)
			return "a condition with members, or a rate that is told again";
		drops |= statement->acts[i].op == TRIP_EACH_OP_DROP;
	}
	return drops ? NULL : "no condition that drops";
}

int
trip_each_rule_plan(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	const char *name = attr->name != NULL ? attr->name : "";
	const char *refused = refuse_key(statement);

	if (attr->hardware == 0 && attr->hardware_changes == 0)
		return 0;
	if (attr->hardware == 0 || attr->hardware > TRIP_EACH_HARDWARE_MAX)
		return trip_error_set(EINVAL, "each \"%s\": hardware %" PRIu32 " is not in 1 to %d",
			name, attr->hardware, TRIP_EACH_HARDWARE_MAX);
	if (attr->hardware_changes > CHANGES_MAX)
		return trip_error_set(EINVAL,
			"each \"%s\": hardware_changes %" PRIu32 " is above %u", name,
			attr->hardware_changes, CHANGES_MAX);
	if (refused == NULL)
		refused = attr->pattern != NULL                 ? "a pattern"
			  : attr->direction == TRIP_FLOW_EGRESS ? "what ports send"
								: refuse_whens(statement);
	if (refused != NULL)
		return trip_error_set(
			ENOTSUP, "each \"%s\": no rule of hardware goes with %s", name, refused);
	statement->in_hardware = attr->hardware;
	statement->hardware_changes =
		attr->hardware_changes != 0 ? attr->hardware_changes : CHANGES_DEFAULT;
	return 0;
}

/* ---- a key ------------------------------------------------------------------------------------
 */

/* What is known of a key on the way through it. */
struct making {
	struct trip_each_rule *rule;
	enum { NO_IP, IPV4, IPV6 } version;
	bool has_vlan;
	uint8_t proto;
	rte_be16_t ports[2], port_masks[2];
};

/* Of whose packets the key is. One whose addresses are all of IPv4 in their IPv6 form is of both,
 * and is matched as IPv4; but with a field of IPv6, or another address, IPv6 alone has it. */
static void
take_version(struct making *making, const struct trip_each_statement *statement, const uint8_t *key)
{
	for (uint32_t i = 0; i < statement->n_parts; i++) {
		const struct trip_each_shape shape = trip_each_key_shape(statement->parts[i].field);
		uint8_t field = statement->parts[i].field;
		bool is_v4 = shape.bytes == 4 ||
			     ((field == TRIP_EACH_IP_SRC || field == TRIP_EACH_IP_DST) &&
				     trip_each_key_is_mapped(key, shape.bytes));

		if (shape.address && making->version != IPV6)
			making->version = is_v4 ? IPV4 : IPV6;
		key += shape.bytes;
	}
}

/* Its bytes of that version, of the key and under the mask. */
static uint8_t *
address_of(struct trip_each_rule *rule, const struct making *making, bool is_dst, unsigned int mask)
{
	if (making->version == IPV4)
		return (uint8_t *)(is_dst ? &rule->v4[mask].hdr.dst_addr
					  : &rule->v4[mask].hdr.src_addr);
	return is_dst ? rule->v6[mask].hdr.dst_addr : rule->v6[mask].hdr.src_addr;
}

static void
take_address(struct making *making, const struct trip_each_part *part, const uint8_t *at)
{
	bool is_dst = part->field == TRIP_EACH_IPV4_DST || part->field == TRIP_EACH_IPV6_DST ||
		      part->field == TRIP_EACH_IP_DST;
	uint32_t of_key = trip_each_key_shape(part->field).bytes,
		 bytes = making->version == IPV4 ? 4 : 16;
	uint32_t bits = part->length != 0 ? RTE_MIN(part->length, 8 * bytes) : 8 * bytes;

	uint8_t *spec = address_of(making->rule, making, is_dst, 0),
		*mask = address_of(making->rule, making, is_dst, 1);

	at += of_key - bytes;
	for (uint32_t i = 0; i < bytes && 8 * i < bits; i++) {
		/* A key may have one address twice, with two lengths. */
		spec[i] |= at[i];
		mask[i] |= bits - 8 * i >= 8 ? 0xff : (uint8_t)(0xff << (8 - bits % 8));
	}
}

static void
take_part(struct making *making, const struct trip_each_part *part, const uint8_t *at)
{
	uint16_t vid;

	switch (part->field) {
	case TRIP_EACH_PROTO:
		making->proto = *at;
		break;
	case TRIP_EACH_L4_SRC:
	case TRIP_EACH_L4_DST:
		memcpy(&making->ports[part->field == TRIP_EACH_L4_DST], at, 2);
		making->port_masks[part->field == TRIP_EACH_L4_DST] = RTE_BE16(0xffff);
		break;
	case TRIP_EACH_VLAN_VID:
		memcpy(&vid, at, sizeof(vid));
		vid = rte_be_to_cpu_16(vid) >> trip_each_key_shape(part->field).shift;
		making->rule->vlan[0].hdr.vlan_tci = rte_cpu_to_be_16(vid);
		making->rule->vlan[1].hdr.vlan_tci = RTE_BE16(0x0fff);
		making->has_vlan = true;
		break;
	default:
		take_address(making, part, at);
	}
}

static struct rte_flow_item *
put_item(struct rte_flow_item *at, enum rte_flow_item_type type, const void *spec, size_t size)
{
	*at = (struct rte_flow_item){.type = type,
		.spec = spec,
		.mask = spec != NULL ? (const char *)spec + size : NULL};
	return at + 1;
}

/* Of an item, what is asked for, and behind it its mask. */
#define PUT_ITEM(at, type, pair) put_item(at, RTE_FLOW_ITEM_TYPE_##type, pair, sizeof((pair)[0]))

static struct rte_flow_item *
put_ip(struct making *making, struct rte_flow_item *at, bool has_proto)
{
	struct trip_each_rule *rule = making->rule;

	if (making->version == IPV4) {
		rule->v4[0].hdr.next_proto_id = making->proto;
		rule->v4[1].hdr.next_proto_id = has_proto ? 0xff : 0;
		return PUT_ITEM(at, IPV4, rule->v4);
	}
	if (making->version == NO_IP)
		return at;
	rule->v6[0].hdr.proto = making->proto;
	rule->v6[1].hdr.proto = has_proto ? 0xff : 0;
	return PUT_ITEM(at, IPV6, rule->v6);
}

/* Both headers begin with them. */
static struct rte_flow_item *
put_ports(struct making *making, struct rte_flow_item *at)
{
	struct trip_each_rule *rule = making->rule;
	bool is_udp = making->proto == IPPROTO_UDP;

	for (unsigned int mask = 0; mask < 2; mask++)
		memcpy(is_udp ? (void *)&rule->udp[mask] : (void *)&rule->tcp[mask],
			mask == 0 ? making->ports : making->port_masks, sizeof(making->ports));
	return is_udp ? PUT_ITEM(at, UDP, rule->udp) : PUT_ITEM(at, TCP, rule->tcp);
}

bool
trip_each_rule_make(const struct trip_each_statement *statement, const uint8_t *key,
	struct trip_each_rule *rule)
{
	bool has_ports = false, has_proto = has_field(statement, TRIP_EACH_PROTO);
	struct making making = {.rule = rule};
	struct rte_flow_item *at;

	memset(rule, 0, sizeof(*rule));
	take_version(&making, statement, key);
	for (uint32_t i = 0; i < statement->n_parts; i++) {
		const struct trip_each_part *part = &statement->parts[i];

		take_part(&making, part, key);
		has_ports |= is_port(part->field);
		key += trip_each_key_shape(part->field).bytes;
	}
	if (has_ports && making.proto != IPPROTO_TCP && making.proto != IPPROTO_UDP)
		return false;
	at = put_item(rule->items, RTE_FLOW_ITEM_TYPE_ETH, NULL, 0);
	if (making.has_vlan)
		at = PUT_ITEM(at, VLAN, rule->vlan);
	at = put_ip(&making, at, has_proto);
	if (has_ports)
		at = put_ports(&making, at);
	at->type = RTE_FLOW_ITEM_TYPE_END;
	return true;
}

/* ---- a port -----------------------------------------------------------------------------------
 */

static int
check_rule(const struct trip_each_statement *statement, uint16_t port_id,
	const struct trip_each_rule *rule, bool shares, bool drops)
{
	const struct trip_flow_attr attr = {sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW,
		.priority = trip_each_rule_priority(shares, drops)};
	struct rte_flow_error error = {0};
	int result = trip_flow_validate(
		port_id, &attr, rule->items, drops ? trip_each_rule_actions : NULL, NULL, &error);

	return result >= 0 ? 0
			   : trip_error_set(-result,
				     "each \"%s\": port %" PRIu16
				     " takes no rule of hardware for its keys: %s",
				     statement->name, port_id,
				     error.message != NULL ? error.message : strerror(-result));
}

static int
check_key(const struct trip_each_statement *statement, uint16_t port_id, bool shares,
	const uint8_t *key)
{
	struct trip_each_rule rule;
	int result;

	(void)trip_each_rule_make(statement, key, &rule);
	result = check_rule(statement, port_id, &rule, shares, true);
	return result == 0 && !shares ? check_rule(statement, port_id, &rule, shares, false)
				      : result;
}

/* By a key of UDP, whose addresses of either version are of IPv4, or as they are. */
static int
check_form(const struct trip_each_statement *statement, uint16_t port_id, bool shares, bool mapped)
{
	uint8_t key[TRIP_EACH_KEY_MAX] = {0}, *at = key;

	for (uint32_t i = 0; i < statement->n_parts; i++) {
		uint8_t field = statement->parts[i].field;

		if (field == TRIP_EACH_PROTO)
			*at = IPPROTO_UDP;
		if (mapped && (field == TRIP_EACH_IP_SRC || field == TRIP_EACH_IP_DST))
			memset(at + 10, 0xff, 2);
		at += trip_each_key_shape(field).bytes;
	}
	return check_key(statement, port_id, shares, key);
}

static int
check_forms(const struct trip_each_statement *statement, uint16_t port_id, bool shares)
{
	int error = check_form(statement, port_id, shares, true);

	/* Beside one of IPv4, they all are. */
	if (error == 0 && !has_field(statement, TRIP_EACH_IPV4_SRC) &&
		!has_field(statement, TRIP_EACH_IPV4_DST))
		error = check_form(statement, port_id, shares, false);
	return error;
}

int
trip_each_rule_check(const struct trip_each *each, bool shares)
{
	const struct trip_each_statement *statement = &each->statement;

	if (statement->in_hardware == 0)
		return 0;
	if (each->domain->attr.clock == TRIP_CLOCK_PACKET)
		return trip_error_set(ENOTSUP,
			"each \"%s\": the domain goes by the times of packets, which hardware does "
			"not tell",
			statement->name);
	if (each->n_ports > 1)
		return trip_error_set(ENOTSUP,
			"each \"%s\": its keys in hardware are those of one port, and it has "
			"%" PRIu32,
			statement->name, each->n_ports);
	return check_forms(statement, each->ports[0].port->port_id, shares);
}

int
trip_each_rule_alone(const struct trip_each *each)
{
	const struct trip_each_statement *statement = &each->statement;

	for (uint32_t i = 0; i < each->n_ports; i++) {
		const struct trip_port *port = each->ports[i].port;

		if (port->helped != NULL)
			return trip_error_set(EBUSY,
				"each \"%s\": each \"%s\" has port %" PRIu16
				" for itself, as rules of hardware drop packets of its keys",
				statement->name, port->helped->statement.name, port->port_id);
		if (statement->in_hardware != 0 && (port->n_flows > 0 || port->n_eaches > 0))
			return trip_error_set(EBUSY,
				"each \"%s\": rules of hardware would drop packets of its keys, "
				"and "
				"%" PRIu32 " flows and %" PRIu32 " statements on port %" PRIu16
				" would not count them",
				statement->name, port->n_flows, port->n_eaches, port->port_id);
	}
	return 0;
}
